// The Huffman code of HPACK (RFC 7541, appendix B). It is canonical: codes of one length are consecutive in the order of their symbols, so that
// the lengths define it completely; longer codes have larger values.
//
// Invariant: an incomplete symbol, padding of eight or more one bits, and the end symbol are refused.

/** Bits of the code of each byte, in base 36. The end has 30. */
const lengths =
  'dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6cad67777777777777777777777878djde6f56565666577666567655677777fbeds' +
  'kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmnqqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrq';
const endSymbol = 256;
const bitsMax = 30;

/** Of each length: the first code, the number of codes, and the position of their symbols. */
const groups = grouped();

function grouped() {
  const bits = [...lengths].map((digit) => Number.parseInt(digit, 36));
  bits.push(bitsMax);
  const symbols: number[] = [];
  const first: number[] = [];
  const count: number[] = [];
  const start: number[] = [];
  let code = 0;
  for (let length = 0; length <= bitsMax; length++) {
    code *= 2;
    first.push(code);
    start.push(symbols.length);
    bits.forEach((its, symbol) => {
      if (its === length) symbols.push(symbol);
    });
    count.push(symbols.length - (start[length] as number));
    code += count[length] as number;
  }
  return { symbols, first, count, start };
}

/** The text of some encoded bytes, a byte a character. null: they are not of this code. */
export function huffmanText(bytes: Uint8Array): string | null {
  const { symbols, first, count, start } = groups;
  let text = '';
  let code = 0;
  let length = 0;
  let isAllOnes = true;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      const value = (byte >> bit) & 1;
      code = code * 2 + value;
      length++;
      isAllOnes &&= value === 1;
      if (length > bitsMax) return null;
      const offset = code - (first[length] as number);
      if (offset < 0 || offset >= (count[length] as number)) continue;
      const symbol = symbols[(start[length] as number) + offset] as number;
      if (symbol === endSymbol) return null;
      text += String.fromCharCode(symbol);
      code = 0;
      length = 0;
      isAllOnes = true;
    }
  }
  return length < 8 && isAllOnes ? text : null;
}
