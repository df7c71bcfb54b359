// Write access to what containerLogManager owns. No other folder imports this file.
import type { ContextOf } from '../ownership.js';

export type ContainerLogManagerContext = ContextOf<'containerLogManager'>;
