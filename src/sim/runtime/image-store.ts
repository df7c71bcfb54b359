// Images of a simulated runtime: the store, the registry behind it, and pulls that take as long as their bytes.
// Invariant: an image is in the store from the moment its pull completes, even if no caller waits any more; ids and sizes depend on the
// reference and the seed alone.
import { draw, streamOf } from '../../domain/kernel/random.js';
import { microsPerSecond } from '../../domain/values/time.js';
import type { Micros } from '../../ports/micros.js';
import type { ImageOperations, RuntimeImage } from '../../ports/outbound/container-runtime.js';
import { type Answer, answered, refused } from './answers.js';
import { hexId } from './ids.js';
import { type ImageReference, parseImageReference } from './image-reference.js';
import { defaultPullBytesPerSecond, type SimImageEntry, type SimLatencies, type SimRuntimeOptions } from './runtime-options.js';
import type { SimRuntimeState } from './runtime-state.js';

/** Sizes that unlisted images are drawn from, in bytes. */
const smallestImage = 2_000_000;
const largestImage = 200_000_000;

export const imageMountpoint = '/var/lib/sim-runtime/images';

export class ImageStore {
  private readonly catalogue = new Map<string, SimImageEntry>();

  constructor(
    private readonly state: SimRuntimeState,
    private readonly options: SimRuntimeOptions,
    private readonly latencies: SimLatencies,
  ) {
    for (const entry of options.images ?? []) {
      const reference = parseImageReference(entry.reference);
      if (reference === null) throw new Error(`image ${JSON.stringify(entry.reference)} is no reference`);
      this.catalogue.set(reference.text, entry);
    }
  }

  /** Adds the initial images. For a fresh state only. */
  fill(): void {
    for (const [text, entry] of this.catalogue) {
      const reference = parseImageReference(text);
      if (entry.present === true && reference !== null) this.keep(this.imageOf(reference, entry));
    }
  }

  /** By id, by reference or by the normalized reference. */
  find(name: string): RuntimeImage | null {
    const byId = this.state.images.get(name) ?? this.state.images.get(`sha256:${name}`);
    if (byId !== undefined) return byId;
    const text = parseImageReference(name)?.text;
    if (text === undefined) return null;
    for (const image of this.state.images.values()) if (image.repoTags.includes(text) || image.repoDigests.includes(text)) return image;
    return null;
  }

  /** The script that comes with an image, if any. */
  scriptOf(image: RuntimeImage): string | null {
    for (const tag of image.repoTags) {
      const script = this.catalogue.get(tag)?.script;
      if (script !== undefined) return script;
    }
    return null;
  }

  pull(request: ImageOperations['pull']['request'], now: Micros): Answer<ImageOperations['pull']['reply']> {
    const name = request.image.image;
    const fail = (kind: Parameters<typeof refused>[0], message: string) => refused(kind, message, 'images.pull', name, this.latencies.pull);
    const reference = parseImageReference(name);
    if (reference === null) return fail('unknown', `failed to parse image reference ${JSON.stringify(name)}: invalid reference format`);
    const { text, repository, registry } = reference;
    const unresolved = `failed to pull and unpack image "${text}": failed to resolve reference "${text}"`;
    if (registry.replace(/:\d+$/, '').endsWith('.invalid')) {
      const url = `https://${registry}/v2/${repository.slice(registry.length + 1)}/manifests/${reference.digest ?? reference.tag}`;
      return fail('unknown', `${unresolved}: failed to do request: Head "${url}": dial tcp: lookup ${registry.replace(/:\d+$/, '')}: no such host`);
    }
    const entry = this.catalogue.get(text);
    if (entry === undefined && this.options.registry === 'listed') return fail('not-found', `rpc error: code = NotFound desc = ${unresolved}: ${text}: not found`);
    if (entry?.needsCredentials === true && request.credentials === null) {
      return fail('unknown', `${unresolved}: pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials`);
    }
    if (entry?.accepts !== undefined && !entry.accepts.some(({ username, password }) => username === request.credentials?.username && password === request.credentials.password)) {
      return fail('unknown', `${unresolved}: unexpected status from HEAD request to https://${registry}: 401 Unauthorized`);
    }
    return this.fetch(reference, entry, now);
  }

  private fetch(reference: ImageReference, entry: SimImageEntry | undefined, now: Micros): Answer<{ readonly imageRef: string }> {
    const image = this.imageOf(reference, entry);
    if (this.state.images.has(image.id)) {
      this.keep(image);
      return answered({ imageRef: image.id }, this.latencies.pull);
    }
    let pull = this.state.pulls.get(reference.text);
    if (pull === undefined) {
      const transfer = Math.ceil((image.sizeBytes / (this.options.pullBytesPerSecond ?? defaultPullBytesPerSecond)) * microsPerSecond);
      pull = { reference: reference.text, readyAt: now + this.latencies.pull + transfer, image };
      this.state.pulls.set(reference.text, pull);
    }
    return answered({ imageRef: image.id }, pull.readyAt - now);
  }

  nextAt(): Micros {
    let next = Number.POSITIVE_INFINITY;
    for (const { readyAt } of this.state.pulls.values()) next = Math.min(next, readyAt);
    return next;
  }

  /** Pulls whose time has come end up in the store. */
  settle(now: Micros): void {
    for (const [text, pull] of this.state.pulls) {
      if (pull.readyAt > now) continue;
      this.state.pulls.delete(text);
      this.keep(pull.image);
    }
  }

  remove(name: string): void {
    const image = this.find(name);
    if (image !== null) this.state.images.delete(image.id);
  }

  fsInfo(): ImageOperations['fsInfo']['reply'] {
    return [{ mountpoint: imageMountpoint, usedBytes: this.bytes(), inodesUsed: 1_000 * this.state.images.size }];
  }

  bytes(): number {
    let bytes = 0;
    for (const { sizeBytes } of this.state.images.values()) bytes += sizeBytes;
    return bytes;
  }

  private keep(image: RuntimeImage): void {
    const known = this.state.images.get(image.id);
    const all = (names: 'repoTags' | 'repoDigests'): readonly string[] => [...new Set([...(known?.[names] ?? []), ...image[names]])];
    this.state.images.set(image.id, known === undefined ? image : { ...known, repoTags: all('repoTags'), repoDigests: all('repoDigests') });
  }

  private imageOf(reference: ImageReference, entry: SimImageEntry | undefined): RuntimeImage {
    const { text, repository, tag, digest } = reference;
    const { seed } = this.options;
    const content = entry?.content ?? text;
    const drawn = smallestImage + Math.floor(draw(streamOf(seed, 'image-size', text), 0) * (largestImage - smallestImage));
    return {
      id: `sha256:${hexId(seed, 'image-id', content)}`,
      repoTags: tag === null ? [] : [`${repository}:${tag}`],
      repoDigests: [`${repository}@${digest ?? `sha256:${hexId(seed, 'image-digest', content)}`}`],
      sizeBytes: entry?.sizeBytes ?? drawn,
      uid: entry?.uid ?? null,
      username: entry?.username ?? '',
      pinned: entry?.pinned ?? false,
    };
  }
}
