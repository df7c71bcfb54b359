// Texts of users: their encodings.
export { type DecodedText, decodeText } from './decode-text.js';
export { EncodingError, readTextFile, readTextFileSync } from './read-text-file.js';
