// The error of a failed mount in the words of the Go kubelet, which runs mount(8) and shows its arguments: users search events for them. Here
// the kernel is called without a program, so its own error replaces the program's exit status.
// Invariant: the text after `password=` and similar keys is masked.
import { PortError } from '../../ports/port-error.js';
import { FileRefusal } from './file-errors.js';
import { goErrnoText } from './go-file-text.js';

const secretOptions = /\b(password|passwd|pass|credentials|cred|secret)=[^,\s]*/gi;

export interface MountWords {
  /** '': the directory is bound. */
  readonly fsType: string;
  readonly source: string;
  readonly target: string;
  readonly options: readonly string[];
}

export function withoutSecrets(text: string): string {
  return text.replace(secretOptions, '$1=<masked>');
}

/** The arguments as mount(8) would have them. */
export function mountArguments({ fsType, source, target, options }: MountWords): string {
  const given = fsType === '' ? ['bind', ...options] : options;
  const words = [...(fsType === '' ? [] : ['-t', fsType]), ...(given.length === 0 ? [] : ['-o', withoutSecrets(given.join(','))]), source, target];
  return `Mounting command: mount\nMounting arguments: ${words.join(' ')}`;
}

/** Runs a mount by the kernel, or without the addon by mount(8), whose output goes into the error. */
export async function mounting(words: MountWords, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const cause = error instanceof PortError ? error.cause : undefined;
    if (!(error instanceof PortError) || !(cause instanceof Error) || !('code' in cause)) throw error;
    const { code, stderr } = cause as { readonly code: unknown; readonly stderr?: unknown };
    const failure = typeof code === 'number' ? `exit status ${code}` : goErrnoText(String(code));
    const output = typeof stderr === 'string' ? `\nOutput: ${withoutSecrets(stderr.trim())}` : '';
    throw new FileRefusal(error.kind, `mount failed: ${failure}\n${mountArguments(words)}${output}`);
  }
}
