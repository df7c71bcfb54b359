// Replaces secrets in a flight record by masks, the same mask for the same secret, so that a replay decides as the agent did.
// Masked are: values of Secret objects, tokens, the node's registry credentials and plugins' answers, variables of plugins; both in the
// inputs that carry them, and in all later occurrences (variables and files of containers, credentials of pulls).
// A replay may differ if an earlier agent's pull record proves access by the hash of a login: the hash of a mask differs.
//
// Invariants: the key of the masks is in memory only, so that a mask can't be tried against guesses; if masking fails, the record ends.

import { createHmac, randomBytes } from 'node:crypto';
import { credentialHash } from '../../domain/values/credential-hash.js';

/** A shorter secret is a part of too many other texts: it is only masked as a whole text, and only in outputs. */
const searchedLength = 8;
const secretsMax = 10_000;

type Fields = Readonly<Record<string, unknown>>;

/** Thrown beyond the limit of secrets to mask. */
export class TooManySecrets extends Error {}

export class SecretMasks {
  private readonly key = randomBytes(32);
  /** Secret -> mask; of texts, and of bytes as Latin-1. */
  private readonly known = new Map<string, string>();
  private search: RegExp | null = null;

  /** The agent's initial settings. */
  beginning<Made>(made: Made): Made {
    return this.copy(made, this.readSettings) as Made;
  }

  /** Something that came in. */
  input(input: unknown): unknown {
    return this.copy(input, this.readInput);
  }

  /** Commands: what went out. */
  commands<Commands>(commands: Commands): Commands {
    return this.copy(commands, this.readCommand) as Commands;
  }

  private mask(secret: string): string {
    return secret === '' ? '' : `masked-${createHmac('sha256', this.key).update(secret).digest('hex').slice(0, 24)}`;
  }

  private learn(secret: string, mask = this.mask(secret)): string {
    if (secret === '' || this.known.has(secret)) return mask;
    if (this.known.size >= secretsMax) throw new TooManySecrets('more secrets than can be masked');
    this.known.set(secret, mask);
    this.search = null;
    return mask;
  }

  private learnBytes(bytes: Buffer): string {
    const latin = bytes.toString('latin1');
    const text = bytes.toString('utf8');
    const mask = this.learn(text);
    if (latin !== text) this.learn(latin, mask);
    return mask;
  }

  /** A copy in which `read` replaces the objects it knows, and known secrets in other texts are masked. */
  private copy(value: unknown, read: (fields: Fields) => Fields | null): unknown {
    if (typeof value === 'string') return this.replaced(value, read === this.readCommand);
    if (typeof value !== 'object' || value === null) return value;
    if (value instanceof Uint8Array) return this.replacedBytes(value);
    if (Array.isArray(value)) return value.map((element) => this.copy(element, read));
    if (value instanceof Map) return new Map([...value].map(([key, element]) => [key, this.copy(element, read)]));
    if (value instanceof Set) return new Set([...value].map((element) => this.copy(element, read)));
    const fields = read(value as Fields);
    if (fields !== null) return fields;
    return Object.fromEntries(Object.entries(value).map(([key, element]) => [key, this.copy(element, read)]));
  }

  private replaced(text: string, wholeToo: boolean): string {
    if (this.known.size === 0) return text;
    const whole = wholeToo ? this.known.get(text) : undefined;
    return whole ?? text.replace(this.expression(), (secret) => this.known.get(secret) ?? secret);
  }

  private replacedBytes(bytes: Uint8Array): Uint8Array {
    const latin = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
    const masked = this.replaced(latin, true);
    return masked === latin ? bytes : Uint8Array.from(Buffer.from(masked, 'latin1'));
  }

  /** The longest secrets first, since they may contain others. */
  private expression(): RegExp {
    if (this.search !== null) return this.search;
    const searched = [...this.known.keys()].filter(({ length }) => length >= searchedLength).sort((a, b) => b.length - a.length);
    // Matches nothing without secrets.
    this.search = searched.length === 0 ? /(?!)/g : new RegExp(searched.map((secret) => secret.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'), 'g');
    return this.search;
  }

  private readonly readSettings = (fields: Fields): Fields | null => {
    if (!Array.isArray(fields.matchImages) || !Array.isArray(fields.env)) return null;
    return { ...fields, env: this.maskVariables(fields.env) };
  };

  private readonly readInput = (fields: Fields): Fields | null => {
    if (isSecret(fields)) return this.maskSecret(fields);
    const { op, outcome, status } = fields as { readonly op?: unknown; readonly outcome?: { readonly ok?: unknown; readonly value?: Fields | null }; readonly status?: Fields };
    if (outcome?.ok === true && isObject(outcome.value)) {
      const { value } = outcome;
      if (op === 'registryCredentials.readNodeConfig') return { ...fields, outcome: { ok: true, value: { ...value, text: this.maskDocument(String(value.text)) } } };
      if (op === 'registryCredentials.runPlugin') return { ...fields, outcome: { ok: true, value: { ...value, stdout: this.maskDocument(String(value.stdout)) } } };
    }
    if (isObject(status) && typeof status.token === 'string') return { ...fields, status: { ...status, token: this.learn(status.token) } };
    return null;
  };

  private readonly readCommand = (fields: Fields): Fields | null => {
    const { op, request } = fields as { readonly op?: unknown; readonly request?: Fields };
    if (!isObject(request)) return null;
    if (op === 'images.pull' && isObject(request.credentials)) {
      const credentials = Object.fromEntries(Object.entries(request.credentials).map(([name, value]) => [name, this.mask(String(value))]));
      return { ...fields, request: { ...(this.copy({ ...request, credentials: null }, this.readCommand) as Fields), credentials } };
    }
    if (op === 'registryCredentials.runPlugin' && Array.isArray(request.env))
      return { ...fields, request: { ...request, env: this.maskVariables(request.env), stdin: this.replaced(String(request.stdin), false) } };
    return null;
  };

  private maskVariables(variables: readonly unknown[]): unknown[] {
    return (variables as readonly { readonly name: string; readonly value: string }[]).map(({ name, value }) => ({ name, value: this.learn(value) }));
  }

  /** Keeps its metadata, so that decisions by name and version stay the same. */
  private maskSecret(secret: Fields): Fields {
    const data = Object.entries(secret.data as Record<string, unknown>).map(([key, encoded]) => {
      const bytes = Buffer.from(String(encoded), 'base64');
      const isDocument = key === '.dockerconfigjson' || key === '.dockercfg';
      return [key, Buffer.from(isDocument ? this.maskDocument(bytes.toString('utf8')) : this.learnBytes(bytes)).toString('base64')];
    });
    return { ...secret, data: Object.fromEntries(data), metadata: withoutCopies(secret.metadata as Fields) };
  }

  /** Docker's configuration, or a plugin's answer: read as before, with other credentials. */
  private maskDocument(text: string): string {
    this.learn(text);
    try {
      return JSON.stringify(this.maskCredentials(JSON.parse(text)));
    } catch (error) {
      if (error instanceof TooManySecrets) throw error;
      return this.mask(text);
    }
  }

  private maskCredentials(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((element) => this.maskCredentials(element));
    if (!isObject(value)) return value;
    const fields = Object.entries(value).map(([key, element]) => {
      if (typeof element !== 'string') return [key, this.maskCredentials(element)];
      return [
        key,
        key === 'auth'
          ? this.maskAuth(element)
          : /^username$/i.test(key)
            ? this.mask(element)
            : /^(password|email|identitytoken|registrytoken)$/i.test(key)
              ? this.learn(element)
              : element,
      ];
    });
    const { username = '', password = '' } = value;
    this.learnLogin(String(username), String(password));
    return Object.fromEntries(fields);
  }

  /** base64(user:password). */
  private maskAuth(auth: string): string {
    const text = Buffer.from(auth, 'base64').toString('utf8');
    const colon = text.indexOf(':');
    if (colon < 0) return this.learn(auth);
    const [username, password] = [text.slice(0, colon), text.slice(colon + 1)];
    this.learnLogin(username, password);
    return this.learn(auth, Buffer.from(`${this.mask(username)}:${this.learn(password)}`).toString('base64'));
  }

  /** The hash of a login is in the records of pulls, and a short password can be found from it. */
  private learnLogin(username: string, password: string): void {
    if (username === '' && password === '') return;
    this.learn(hashOf(username, password), hashOf(this.mask(username), this.mask(password)));
  }
}

function hashOf(username: string, password: string): string {
  return credentialHash({ username, password, serverAddress: '', identityToken: '', registryToken: '' });
}

/** Items of lists have no kind; only secrets have a type beside their data. */
function isSecret({ kind, type, data, metadata }: Fields): boolean {
  return isObject(metadata) && isObject(data) && (kind === 'Secret' || (kind === undefined && typeof type === 'string'));
}

/** kubectl keeps a copy of the whole object in an annotation. */
function withoutCopies(metadata: Fields): Fields {
  const { annotations } = metadata;
  if (!isObject(annotations)) return metadata;
  const kept = Object.entries(annotations).filter(([name]) => name !== 'kubectl.kubernetes.io/last-applied-configuration');
  return { ...metadata, annotations: Object.fromEntries(kept) };
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
