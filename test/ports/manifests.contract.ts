// The contract of the manifest directory port: the model, and the real one on a file system.
import type { Test } from 'tap';
import type { Call, PortOf } from '../../src/ports/operation.js';
import type { ManifestDirectoryOperations, ManifestListing } from '../../src/ports/outbound/manifests.js';
import { PortError, type PortErrorKind } from '../../src/ports/port-error.js';

export const quietCall: Call = { signal: { aborted: false, reason: undefined, addEventListener() {}, removeEventListener() {} }, timeoutMicros: null };

export interface ManifestsUnderTest {
  readonly port: PortOf<ManifestDirectoryOperations>;
  /** A directory that doesn't exist yet. */
  readonly path: string;
  makeDirectory(): void;
  /** Writes a JSON manifest of that value. */
  put(name: string, value: unknown): void;
  /** Writes something that is no manifest. */
  spoil(name: string): void;
  remove(name: string): void;
  removeDirectory(): void;
}

async function kindOf(work: Promise<unknown>): Promise<PortErrorKind | 'done'> {
  try {
    await work;
    return 'done';
  } catch (error) {
    if (error instanceof PortError) return error.kind;
    throw error;
  }
}

/** Names and kinds of content. */
function shown(listing: ManifestListing): unknown {
  if (listing.kind !== 'directory') return listing.kind;
  return listing.files.map((file) => `${file.path.slice(file.path.lastIndexOf('/') + 1)} ${file.content.kind}`);
}

export async function manifestDirectoryContract(t: Test, host: ManifestsUnderTest): Promise<void> {
  const { port, path } = host;
  const list = (): Promise<ManifestListing> => port.list({ path }, quietCall);
  t.equal(shown(await list()), 'absent', 'a path that is not there is a value');
  t.equal(await kindOf(port.watch({ path }, quietCall)), 'not-found', 'and can not be watched');
  host.makeDirectory();
  t.strictSame(shown(await list()), [], 'empty');
  t.equal(await port.watch({ path }, quietCall), null);
  t.equal(await port.watch({ path }, quietCall), null, 'twice is once');
  host.put('b.json', { a: 1, list: [1, 'x', null, true], deep: { er: '' } });
  host.put('a.json', 'text');
  host.put('.hidden.json', 1);
  host.spoil('c.json');
  t.strictSame(shown(await list()), ['a.json document', 'b.json document', 'c.json unreadable'], 'in order, dot files left out');
  const file = await port.readFile({ path: `${path}/b.json` }, quietCall);
  t.equal(file.path, `${path}/b.json`);
  t.match(file.content, { kind: 'document', value: { a: 1, list: [1, 'x', null, true], deep: { er: '' } } });
  t.match(await port.readFile({ path: `${path}/none` }, quietCall), { path: `${path}/none`, content: { kind: 'absent' } });
  t.match(await port.list({ path: `${path}/a.json` }, quietCall), { kind: 'file', file: { path: `${path}/a.json`, content: { kind: 'document', value: 'text' } } });
  host.remove('a.json');
  t.strictSame(shown(await list()), ['b.json document', 'c.json unreadable']);
  host.removeDirectory();
  t.equal(shown(await list()), 'absent');
}
