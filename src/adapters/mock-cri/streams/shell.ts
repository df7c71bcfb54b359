// The shell of a mock container: only lists of commands with `;`, `&&`, `||`, pipes, quotes, variables and redirections. It refuses
// everything else by name.
// Invariant: supported features behave as in POSIX; an unknown command is 127.
import { posix } from 'node:path';
import { PassThrough } from 'node:stream';
import { FileProblem } from './mock-files.js';
import { ProgramInput } from './program-input.js';
import { type ProgramScene, programs } from './programs.js';

const shells: ReadonlySet<string> = new Set(['sh', 'ash', 'bash']);
const scriptBytesMax = 64 * 1024;
const nestingMax = 8;
const redirectedBytesMax = 64 * 1024 * 1024;
/** A shell's exit code for SIGPIPE. */
const brokenPipeCode = 141;

class BrokenPipe extends Error {}

/** Ends the shell that runs the script. */
class Exit {
  constructor(readonly code: number) {}
}

interface Redirection {
  readonly operator: '>' | '>>' | '<' | '2>' | '>&2' | '2>&1';
  readonly path: string;
}

/** A name is expanded when its command runs. */
type WordPart = string | { readonly name: string };
type Token = { readonly operator: string } | { readonly word: readonly WordPart[] };

const operators = ['&&', '||', '2>&1', '1>&2', '>&2', '2>', '>>', '>', '<', ';', '\n', '|'];
const refusedCharacters = /[(){}`*?&]/;

/** Runs a command as a container's process would be run. */
export async function runCommand(words: readonly string[], scene: ProgramScene, nesting = 0): Promise<number> {
  const [path = '', ...rest] = words;
  const name = posix.basename(path);
  if (shells.has(name)) return runShell(rest, scene, nesting);
  const program = Object.hasOwn(programs, name) ? programs[name] : undefined;
  if (program === undefined) {
    await scene.err(`${path}: not found: a mock container has no such program, only ${[...shells, ...Object.keys(programs)].join(' ')}\n`);
    return 127;
  }
  try {
    return await program(rest, scene);
  } catch (error) {
    if (!(error instanceof FileProblem)) throw error;
    await scene.err(`${name}: ${error.message}\n`);
    return 1;
  }
}

async function runShell(words: readonly string[], scene: ProgramScene, nesting: number): Promise<number> {
  if (nesting > nestingMax) throw new FileProblem('too many shells');
  const own: ProgramScene = { ...scene, env: new Map(scene.env), cwd: scene.cwd };
  const shell = new Shell(own, nesting);
  try {
    if (words[0]?.startsWith('-') === true && words[0].includes('c')) return await shell.run(words[1] ?? '');
    return await shell.interactive();
  } catch (error) {
    if (error instanceof Exit) return error.code;
    throw error;
  }
}

class Shell {
  private last = 0;

  constructor(
    private readonly scene: ProgramScene,
    private readonly nesting: number,
  ) {}

  async interactive(): Promise<number> {
    const { input, err, size } = this.scene;
    const prompt = async () => (size() === null ? undefined : await err(`${this.scene.cwd} # `));
    for (await prompt(); ; await prompt()) {
      const line = await input.line();
      if (line === null) return this.last;
      await this.run(line);
    }
  }

  /** The exit code of the last command. */
  async run(script: string): Promise<number> {
    if (script.length > scriptBytesMax) return this.refuse('a script of that length');
    const tokens = tokensOf(script);
    if (typeof tokens === 'string') return this.refuse(tokens);
    let joint = ';';
    for (const [pipeline, next] of listOf(tokens)) {
      const isDue = joint === ';' || (joint === '&&') === (this.last === 0);
      if (isDue && pipeline.some((command) => command.length > 0)) this.last = await this.pipeline(pipeline);
      joint = next;
    }
    return this.last;
  }

  private async refuse(what: string): Promise<number> {
    await this.scene.err(`sh: a mock container's shell does not know ${what}\n`);
    this.last = 2;
    return this.last;
  }

  private async pipeline(commands: readonly (readonly Token[])[]): Promise<number> {
    let { input } = this.scene;
    const runs: Promise<number>[] = [];
    let before: PassThrough | null = null;
    for (const [i, command] of commands.entries()) {
      const read: PassThrough | null = before;
      const pipe = i === commands.length - 1 ? null : new PassThrough();
      const scene = { ...this.scene, input, out: pipe === null ? this.scene.out : writing(pipe) };
      const run = this.command(command, scene, commands.length === 1).catch((error: unknown) => {
        if (error instanceof BrokenPipe) return brokenPipeCode;
        throw error;
      });
      runs.push(
        run.finally(() => {
          pipe?.end();
          read?.destroy();
        }),
      );
      before = pipe;
      if (pipe !== null) input = new ProgramInput(pipe);
    }
    return (await Promise.all(runs)).at(-1) ?? 0;
  }

  private async command(tokens: readonly Token[], scene: ProgramScene, inShell: boolean): Promise<number> {
    const parsed = redirectionsOf(tokens, (name) => (name === '?' ? String(this.last) : (this.scene.env.get(name) ?? '')));
    if (typeof parsed === 'string') return this.refuse(parsed);
    const { words, redirections } = parsed;
    const redirected = this.redirect(scene, redirections);
    if ('problem' in redirected) {
      await scene.err(`sh: ${redirected.problem}\n`);
      return 1;
    }
    const code = inShell ? await this.builtin(words, redirected.scene) : null;
    const done = code ?? (await runCommand(words, redirected.scene, this.nesting + 1));
    try {
      redirected.flush();
    } catch (error) {
      if (!(error instanceof FileProblem)) throw error;
      await scene.err(`sh: can't create a file: ${error.message}\n`);
      return 1;
    }
    return done;
  }

  /** null: no builtin. */
  private async builtin(words: readonly string[], scene: ProgramScene): Promise<number | null> {
    const [name = '', first = ''] = words;
    const assigned = /^([A-Za-z_]\w*)=([\s\S]*)$/.exec(name === 'export' ? first : name);
    if (assigned !== null) {
      this.scene.env.set(assigned[1] as string, assigned[2] as string);
      return 0;
    }
    switch (name) {
      case 'exit':
        throw new Exit(first === '' ? this.last : Number(first) & 0xff);
      case ':':
        return 0;
      case 'exec':
        throw new Exit(await runCommand(words.slice(1), scene, this.nesting + 1));
      case 'cd': {
        const path = scene.files.path(posix.resolve(this.scene.cwd, first === '' ? '/root' : first));
        if (!scene.files.isDirectory(path)) {
          await scene.err(`sh: cd: can't cd to ${first}: No such file or directory\n`);
          return 2;
        }
        this.scene.cwd = path;
        return 0;
      }
      case 'read': {
        const line = await scene.input.line();
        if (first !== '') this.scene.env.set(first, line ?? '');
        return line === null ? 1 : 0;
      }
      default:
        return null;
    }
  }

  private redirect(scene: ProgramScene, redirections: readonly Redirection[]): { readonly scene: ProgramScene; flush(): void } | { readonly problem: string } {
    let { input, out, err } = scene;
    const flushes: (() => void)[] = [];
    const file = (path: string, begun: Buffer) => {
      const chunks = [begun];
      let left = redirectedBytesMax - begun.length;
      if (path !== '/dev/null') flushes.push(() => scene.files.write(path, Buffer.concat(chunks)));
      return async (bytes: Buffer | string) => {
        if (path === '/dev/null') return;
        left -= bytes.length;
        if (left < 0) throw new FileProblem('No space left on device');
        chunks.push(Buffer.from(bytes));
      };
    };
    for (const { operator, path: given } of redirections) {
      const path = scene.files.path(posix.resolve(scene.cwd, given));
      if (operator === '>&2') out = err;
      else if (operator === '2>&1') err = out;
      else if (operator === '2>') err = file(path, Buffer.alloc(0));
      else if (operator !== '<') out = file(path, operator === '>' ? Buffer.alloc(0) : (scene.files.read(path) ?? Buffer.alloc(0)));
      else {
        const content = path === '/dev/null' ? Buffer.alloc(0) : scene.files.read(path);
        if (content === null) return { problem: `can't open ${given}: no such file` };
        const stream = new PassThrough();
        stream.end(content);
        input = new ProgramInput(stream);
      }
    }
    return {
      scene: { ...scene, input, out, err },
      flush: () => {
        for (const flush of flushes) flush();
      },
    };
  }
}

/** A text: the unsupported syntax. */
function tokensOf(script: string): readonly Token[] | string {
  const tokens: Token[] = [];
  let word: WordPart[] | null = null;
  const add = (...parts: readonly WordPart[]) => {
    word ??= [];
    word.push(...parts);
  };
  const finish = () => {
    if (word !== null) tokens.push({ word });
    word = null;
  };
  for (let at = 0; at < script.length; ) {
    const rest = script.slice(at);
    const operator = word === null || !/^[12]/.test(rest) ? operators.find((one) => rest.startsWith(one)) : undefined;
    const [quoted, inner = ''] = /^'([^']*)'/.exec(rest) ?? /^"((?:[^"\\]|\\[\s\S])*)"/.exec(rest) ?? [];
    const [reference, braced, named] = variable.exec(rest) ?? [];
    if (operator !== undefined) {
      finish();
      tokens.push({ operator });
      at += operator.length;
    } else if (quoted !== undefined) {
      if (quoted.startsWith('"') && /\$\(|`/.test(inner)) return '$(...)';
      add(...(quoted.startsWith("'") ? [inner] : partsOf(inner)));
      at += quoted.length;
    } else if (reference !== undefined) {
      add({ name: braced ?? named ?? '' });
      at += reference.length;
    } else if (/^\s/.test(rest)) {
      finish();
      at++;
    } else if (rest.startsWith('\\')) {
      add(rest[1] ?? '');
      at += 2;
    } else if (refusedCharacters.test(rest[0] ?? '') || /^['"]/.test(rest)) return rest[0] ?? '';
    else {
      add(rest[0] ?? '');
      at++;
    }
  }
  finish();
  return tokens;
}

const variable = /^\$(?:\{(\w+)\}|(\w+|\?))/;

/** The parts of a double-quoted text. */
function partsOf(text: string): readonly WordPart[] {
  const parts: WordPart[] = [''];
  for (let at = 0; at < text.length; ) {
    const rest = text.slice(at);
    const [sequence, escaped] = /^\\([$"\\`])/.exec(rest) ?? [];
    const [reference, braced, named] = variable.exec(rest) ?? [];
    parts.push(escaped ?? (reference === undefined ? (rest[0] ?? '') : { name: braced ?? named ?? '' }));
    at += (sequence ?? reference ?? 'x').length;
  }
  return parts;
}

/** Pipelines, and what joins each to the next. */
function listOf(tokens: readonly Token[]): readonly (readonly [pipeline: Token[][], next: string])[] {
  const list: [Token[][], string][] = [];
  let pipeline: Token[][] = [[]];
  for (const token of [...tokens, { operator: ';' }]) {
    if ('word' in token || !['&&', '||', ';', '\n', '|'].includes(token.operator)) pipeline.at(-1)?.push(token);
    else if (token.operator === '|') pipeline.push([]);
    else {
      list.push([pipeline, token.operator === '\n' ? ';' : token.operator]);
      pipeline = [[]];
    }
  }
  return list;
}

function redirectionsOf(tokens: readonly Token[], lookUp: (name: string) => string): { readonly words: string[]; readonly redirections: Redirection[] } | string {
  const words: string[] = [];
  const redirections: Redirection[] = [];
  const text = (word: readonly WordPart[]) => word.map((part) => (typeof part === 'string' ? part : lookUp(part.name))).join('');
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i] as Token;
    if ('word' in token) {
      words.push(text(token.word));
      continue;
    }
    const { operator } = token;
    if (operator === '>&2' || operator === '1>&2' || operator === '2>&1') redirections.push({ operator: operator === '1>&2' ? '>&2' : operator, path: '' });
    else {
      const next = tokens[++i];
      if (next === undefined || !('word' in next)) return `${operator} without a file`;
      redirections.push({ operator: operator as Redirection['operator'], path: text(next.word) });
    }
  }
  return { words, redirections };
}

/** Writes end with the pipe: Node never answers a write in progress when its reader destroys it. */
function writing(pipe: PassThrough): ProgramScene['out'] {
  const unanswered = new Set<() => void>();
  pipe.once('close', () => {
    for (const broken of unanswered) broken();
  });
  return (bytes) =>
    new Promise((resolve, reject) => {
      const broken = (): void => reject(new BrokenPipe());
      unanswered.add(broken);
      pipe.write(bytes, (error) => {
        unanswered.delete(broken);
        if (error === null || error === undefined) resolve();
        else broken();
      });
    });
}
