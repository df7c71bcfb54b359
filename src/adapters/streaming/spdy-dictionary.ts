// The initial dictionary of SPDY/3 header compression: words of typical headers (SPDY Protocol, draft 3, 2.6.10.1).
// Invariant: its Adler-32 is the one that each header stream names in its first bytes.
const words =
  'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow authorization cache-control connection content-base ' +
  'content-encoding content-language content-length content-location content-md5 content-range content-type date etag expect expires from host if-match if-modified-since ' +
  'if-none-match if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after server te trailer ' +
  'transfer-encoding upgrade user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie keep-alive origin';
const tail =
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505' +
  '203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error' +
  '501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT' +
  'chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=' +
  'gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.';

export const spdyDictionary: Buffer = Buffer.concat([
  ...words.split(' ').map((word) => {
    const text = Buffer.from(word.replace('_', ' '));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(text.length);
    return Buffer.concat([length, text]);
  }),
  Buffer.from(tail),
]);

const adlerModulus = 65_521;

function adler32(bytes: Uint8Array): number {
  let [a, b] = [1, 0];
  for (const byte of bytes) {
    a = (a + byte) % adlerModulus;
    b = (b + a) % adlerModulus;
  }
  return b * 0x1_00_00 + a;
}

export const spdyDictionaryId = adler32(spdyDictionary);
