// Write access to what fileSource owns. No other folder imports this file.
import type { ContextOf } from '../ownership.js';

export type FileSourceContext = ContextOf<'fileSource'>;
