// atomic-writer: payloads written one after the other into a volume directory.
import { instantOf } from '../../../src/domain/values/instant.js';
import { generationName } from '../../../src/domain/volumes/atomic-writer.js';
import type { VolumePayload } from '../../../src/domain/volumes/volume-payload.js';
import type { VectorDriver } from '../driver.js';
import { byBytes, type LayoutEntry, ModelFileSystem, octal } from '../model-file-system.js';
import { carryOut, planFor } from '../model-volume.js';

interface InputFile {
  readonly content?: string;
  readonly contentBase64?: string;
  readonly mode: string;
  readonly fsUser?: number;
}
interface Input {
  readonly payloads: readonly Readonly<Record<string, InputFile>>[];
  readonly existing?: readonly LayoutEntry[];
}

const volume = '/vol';
const generationText = /\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+/g;

function payloadOf(input: Readonly<Record<string, InputFile>>): VolumePayload {
  return new Map(
    Object.entries(input).map(([path, { content, contentBase64, mode, fsUser }]) => {
      const bytes = contentBase64 === undefined ? Buffer.from(content ?? '') : Buffer.from(contentBase64, 'base64');
      return [path, { bytes, mode: Number.parseInt(mode, 8), fsUser: fsUser ?? null }];
    }),
  );
}

export function contentOf(bytes: Uint8Array): { readonly content: string } | { readonly contentBase64: string } {
  const text = Buffer.from(bytes).toString('utf8');
  return Buffer.from(text).equals(Buffer.from(bytes)) ? { content: text } : { contentBase64: Buffer.from(bytes).toString('base64') };
}

function treeOf(files: ModelFileSystem, numbered: (text: string) => string): unknown[] {
  const tree = files.below(volume).map((path) => {
    const entry = files.entries.get(path)!;
    const common = { path: numbered(path.slice(volume.length + 1)), type: entry.type, ...(entry.uid === 0 ? {} : { uid: entry.uid }) };
    if (entry.type === 'symlink') return { ...common, target: numbered(entry.target) };
    return { ...common, mode: octal(entry.mode), ...(entry.type === 'file' ? contentOf(entry.bytes) : {}) };
  });
  return tree.sort((a, b) => byBytes(a.path, b.path));
}

export const driver: VectorDriver = {
  run({ payloads, existing = [] }: Input) {
    const files = ModelFileSystem.of(volume, existing);
    const numbers = new Map<string, number>();
    const numbered = (text: string): string =>
      text.replace(generationText, (name) => {
        if (!numbers.has(name)) numbers.set(name, numbers.size + 1);
        return `..<generation ${numbers.get(name)}>`;
      });
    const steps = payloads.map((payload, i) => {
      const plan = planFor(files, volume, payloadOf(payload), generationName(instantOf((1_700_000_000 + i) * 1_000_000), String(100 + i)), null);
      if (plan.kind === 'refused') {
        const error = plan.message.replaceAll(`${volume}/`, '<dir>/').replace(generationText, '..<generation>');
        return { newGeneration: false, error, tree: treeOf(files, numbered) };
      }
      for (const step of plan.steps) carryOut(files, volume, step);
      return { newGeneration: plan.generation !== null, tree: treeOf(files, numbered) };
    });
    return { steps };
  },
};
