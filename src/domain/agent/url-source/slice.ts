// Write access to what urlSource owns. No other folder imports this file.
import type { ContextOf } from '../ownership.js';

export type UrlSourceContext = ContextOf<'urlSource'>;
