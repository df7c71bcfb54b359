// The few programs of a mock container: enough to try kubectl exec, cp and terminals on it. docs/mock-cri.md describes each.
// Invariant: a program touches only its own streams and the container's files in memory.

import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { instantOf } from '../../../domain/values/instant.js';
import { formatRfc3339Micros, microsPerSecond } from '../../../domain/values/time.js';
import type { Micros } from '../../../ports/micros.js';
import type { TerminalSize } from '../../streaming/index.js';
import { FileProblem, type MockFiles } from './mock-files.js';
import type { ProgramInput } from './program-input.js';
import { readTar, writeTar } from './tar.js';

export interface ProgramScene {
  readonly input: ProgramInput;
  /** Rejects once no reader is left. */
  readonly out: (bytes: Buffer | string) => Promise<void>;
  readonly err: (bytes: Buffer | string) => Promise<void>;
  readonly env: Map<string, string>;
  readonly files: MockFiles;
  readonly hostname: string;
  /** null: no terminal. */
  readonly size: () => TerminalSize | null;
  readonly now: () => Micros;
  readonly sleep: (micros: Micros) => Promise<void>;
  cwd: string;
}

/** Its exit code. */
export type Program = (words: readonly string[], scene: ProgramScene) => Promise<number>;

const archiveBytesMax = 64 * 1024 * 1024;
const numbersMax = 100_000;
/** The maximum of a program's write. */
const pieceBytes = 64 * 1024;

/** The rest of the input. Throws FileProblem beyond `archiveBytesMax`. */
async function wholeInput(input: ProgramInput): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for (let chunk = await input.chunk(); chunk !== null; chunk = await input.chunk()) {
    bytes += chunk.length;
    if (bytes > archiveBytesMax) throw new FileProblem('Cannot allocate memory');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function at({ cwd, files }: ProgramScene, path: string): string {
  return files.path(posix.resolve(cwd, path));
}

/** Each named file, or the input. Returns 1 if one is absent. */
async function eachInput(name: string, words: readonly string[], scene: ProgramScene, take: (chunk: Buffer) => Promise<void> | void): Promise<number> {
  let code = 0;
  for (const word of words.length === 0 ? ['-'] : words) {
    if (word === '-') {
      for (let chunk = await scene.input.chunk(); chunk !== null; chunk = await scene.input.chunk()) await take(chunk);
      continue;
    }
    const content = scene.files.read(at(scene, word));
    if (content !== null) for (let from = 0; from < content.length; from += pieceBytes) await take(content.subarray(from, from + pieceBytes));
    else {
      await scene.err(`${name}: can't open '${word}': No such file or directory\n`);
      code = 1;
    }
  }
  return code;
}

async function digest(name: string, algorithm: string, words: readonly string[], scene: ProgramScene): Promise<number> {
  const hash = createHash(algorithm);
  const code = await eachInput(name, words, scene, (chunk) => void hash.update(chunk));
  if (code === 0) await scene.out(`${hash.digest('hex')}  ${words[0] ?? '-'}\n`);
  return code;
}

async function tar(words: readonly string[], scene: ProgramScene): Promise<number> {
  const [mode = '', ...rest] = words;
  const under = rest.indexOf('-C');
  const directory = at(scene, under < 0 ? '.' : (rest[under + 1] ?? '.'));
  const named = rest.filter((word, i) => word !== '-' && (under < 0 || (i !== under && i !== under + 1)));
  if (mode.includes('x')) {
    for (const { name, kind, content } of readTar(await wholeInput(scene.input))) {
      const path = posix.join(directory, name);
      scene.files.makeDirectory(kind === 'directory' ? path : posix.dirname(path));
      if (kind === 'file') scene.files.write(path, content);
    }
    return 0;
  }
  if (!mode.includes('c')) throw new FileProblem('expected one of c and x');
  const files = named.flatMap((name) => scene.files.below(posix.resolve(directory, name)));
  const missing = named.find((name) => scene.files.below(posix.resolve(directory, name)).length === 0);
  if (missing !== undefined) throw new FileProblem(`${missing}: No such file or directory`);
  // Without the slash, as tar does.
  const seconds = Math.floor(scene.now() / microsPerSecond);
  await scene.out(
    writeTar(
      files.map(([path, content]) => [under < 0 ? path.slice(1) : posix.relative(directory, path), content] as const),
      seconds,
    ),
  );
  return 0;
}

async function test(words: readonly string[], scene: ProgramScene): Promise<number> {
  const [operator = '', operand = '', right = ''] = words;
  const path = at(scene, operand);
  switch (operator) {
    case '-d':
      return scene.files.isDirectory(path) ? 0 : 1;
    case '-f':
    case '-e':
      return scene.files.read(path) !== null || (operator === '-e' && scene.files.isDirectory(path)) ? 0 : 1;
    case '-t':
      return scene.size() === null ? 1 : 0;
    case '-z':
      return operand === '' ? 0 : 1;
    case '-n':
      return operand === '' ? 1 : 0;
    default:
      return (operand === '=' && operator === right) || (operand === '!=' && operator !== right) ? 0 : 1;
  }
}

async function head(words: readonly string[], scene: ProgramScene): Promise<number> {
  const [flag = '', count = ''] = words[0]?.startsWith('-') === true ? [words[0].slice(0, 2), words[0].slice(2) || words[1]] : ['-n', '10'];
  if (flag !== '-n' && flag !== '-c') throw new FileProblem('expected -n or -c');
  let left = Number(count);
  if (!Number.isInteger(left) || left < 0) throw new FileProblem(`invalid number '${count}'`);
  if (flag === '-n') {
    for (let line = left > 0 ? await scene.input.line() : null; line !== null; line = left > 0 ? await scene.input.line() : null) {
      left--;
      await scene.out(`${line}\n`);
    }
    return 0;
  }
  for (let chunk = left > 0 ? await scene.input.chunk() : null; chunk !== null; chunk = left > 0 ? await scene.input.chunk() : null) {
    await scene.out(chunk.subarray(0, left));
    left -= Math.min(left, chunk.length);
  }
  return 0;
}

export const programs: Readonly<Record<string, Program>> = {
  async true() {
    return 0;
  },
  async false() {
    return 1;
  },
  async echo(words, scene) {
    const bare = words[0] === '-n';
    await scene.out(`${(bare ? words.slice(1) : words).join(' ')}${bare ? '' : '\n'}`);
    return 0;
  },
  cat: (words, scene) => eachInput('cat', words, scene, scene.out),
  async env(_words, scene) {
    await scene.out([...scene.env].map(([key, value]) => `${key}=${value}\n`).join(''));
    return 0;
  },
  async printenv([name, ...more], scene) {
    if (name === undefined) return (programs.env as Program)(more, scene);
    const value = scene.env.get(name);
    if (value !== undefined) await scene.out(`${value}\n`);
    return value === undefined ? 1 : 0;
  },
  async pwd(_words, scene) {
    await scene.out(`${scene.cwd}\n`);
    return 0;
  },
  async hostname(_words, scene) {
    await scene.out(`${scene.hostname}\n`);
    return 0;
  },
  async date(_words, scene) {
    await scene.out(`${formatRfc3339Micros(instantOf(scene.now()))}\n`);
    return 0;
  },
  async sleep([text = ''], scene) {
    const seconds = text === 'infinity' ? 1e9 : Number(text);
    if (text === '' || !Number.isFinite(seconds) || seconds < 0) throw new FileProblem(`invalid number '${text}'`);
    await scene.sleep(seconds * microsPerSecond);
    return 0;
  },
  async seq(words, scene) {
    const [first, last] = words.length > 1 ? words.map(Number) : [1, Number(words[0])];
    if (!Number.isInteger(first) || !Number.isInteger(last)) throw new FileProblem('expected one or two whole numbers');
    if ((last as number) - (first as number) > numbersMax) throw new FileProblem(`more than ${numbersMax} numbers`);
    let text = '';
    for (let n = first as number; n <= (last as number); n++) {
      text += `${n}\n`;
      if (text.length < pieceBytes && n < (last as number)) continue;
      await scene.out(text);
      text = '';
    }
    return 0;
  },
  async wc([flag = '', ...words], scene) {
    const counts = { '-c': 0, '-l': 0 };
    if (flag !== '-c' && flag !== '-l') throw new FileProblem('expected -c or -l');
    const code = await eachInput('wc', words, scene, (chunk) => {
      counts['-c'] += chunk.length;
      for (const byte of chunk) if (byte === 0x0a) counts['-l']++;
    });
    await scene.out(`${counts[flag]}\n`);
    return code;
  },
  md5sum: (words, scene) => digest('md5sum', 'md5', words, scene),
  sha256sum: (words, scene) => digest('sha256sum', 'sha256', words, scene),
  async tty(_words, scene) {
    await scene.out(scene.size() === null ? 'not a tty\n' : '/dev/pts/0\n');
    return scene.size() === null ? 1 : 0;
  },
  async stty(words, scene) {
    const size = scene.size();
    if (words[0] !== 'size') throw new FileProblem('expected size');
    if (size === null) throw new FileProblem('standard input: Inappropriate ioctl for device');
    await scene.out(`${size.Height} ${size.Width}\n`);
    return 0;
  },
  async ls(words, scene) {
    const path = at(scene, words.find((word) => !word.startsWith('-')) ?? '.');
    if (scene.files.read(path) !== null) await scene.out(`${path}\n`);
    else if (scene.files.isDirectory(path))
      await scene.out(
        scene.files
          .list(path)
          .map((name) => `${name}\n`)
          .join(''),
      );
    else throw new FileProblem(`${path}: No such file or directory`);
    return 0;
  },
  async mkdir(words, scene) {
    for (const word of words) if (!word.startsWith('-')) scene.files.makeDirectory(at(scene, word));
    return 0;
  },
  async rm(words, scene) {
    for (const word of words) {
      if (word.startsWith('-')) continue;
      if (!scene.files.remove(at(scene, word)) && !words.includes('-f')) throw new FileProblem(`can't remove '${word}': No such file or directory`);
    }
    return 0;
  },
  tar,
  test,
  '[': (words, scene) => test(words.slice(0, -1), scene),
  head,
};
