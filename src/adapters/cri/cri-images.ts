// Images over the CRI.
import { goQuote } from '../../domain/values/go-text.js';
import type { ImageSpec } from '../../ports/model/container-config.js';
import type { SandboxConfig } from '../../ports/model/sandbox-config.js';
import type { Call, PortOf } from '../../ports/operation.js';
import type { ImageOperations, PullCredentials, RuntimeImage } from '../../ports/outbound/container-runtime.js';
import { absentIsSuccess } from './absent-is-success.js';
import { imageSpecToCri, sandboxConfigToCri } from './config-to-cri.js';
import { brokenAnswer, type CriConnection } from './connection.js';
import { type Image, ImageServiceService, type ListImagesRequest, ListImagesResponse } from './gen/cri-runtime-v1.js';
import { type ListMethods, ListStreams } from './list-streams.js';
import { sandboxImage } from './sandbox-image.js';

const asBytes = { responseDeserialize: (bytes: Buffer) => bytes };
const listImages: ListMethods<ListImagesRequest> = {
  whole: { ...ImageServiceService.listImages, ...asBytes },
  parts: { ...ImageServiceService.streamImages, ...asBytes },
};

interface PullRequest {
  readonly image: ImageSpec;
  readonly credentials: PullCredentials | null;
  readonly sandboxConfig: SandboxConfig | null;
}

interface FilesystemUse {
  readonly mountpoint: string;
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

export class CriImages implements PortOf<ImageOperations> {
  private readonly streams: ListStreams;

  /** With `streamLists` lists are streamed in parts if the runtime supports it. */
  constructor(
    private readonly connection: CriConnection,
    { streamLists = false }: { readonly streamLists?: boolean } = {},
  ) {
    this.streams = new ListStreams(connection, streamLists);
  }

  async status({ image }: { readonly image: ImageSpec }, call: Call): Promise<RuntimeImage | null> {
    const target = this.target('images.status', image.image);
    const answer = await this.connection.unary(ImageServiceService.imageStatus, { image: imageSpecToCri(image), verbose: false }, call, target);
    if (answer.image === undefined) return null;
    if (answer.image.id === '' || answer.image.size === 0n) throw brokenAnswer(`Id or size of image ${goQuote(image.image)} is not set`, target.operation, image.image);
    return imageFromCri(answer.image);
  }

  /** No deadline but the caller's: large images take as long as they take. The message of a failure carries its code unless that is UNKNOWN. */
  async pull({ image, credentials, sandboxConfig }: PullRequest, call: Call): Promise<{ readonly imageRef: string }> {
    const target = { operation: 'images.pull', subject: image.image, deadlineMicros: null, errorText: 'without-unknown' } as const;
    const message = {
      image: imageSpecToCri(image),
      auth: credentials === null ? undefined : { ...credentials, auth: '' },
      sandboxConfig: sandboxConfig === null ? undefined : sandboxConfigToCri(sandboxConfig),
    };
    const { imageRef } = await this.connection.unary(ImageServiceService.pullImage, message, call, target);
    if (imageRef === '') throw brokenAnswer(`imageRef of image ${goQuote(image.image)} is not set`, target.operation, image.image);
    return { imageRef };
  }

  async list(_request: null, call: Call): Promise<readonly RuntimeImage[]> {
    const bytes = await this.streams.list(listImages, { filter: undefined }, call, this.target('images.list', ''));
    const images = decodedImages(bytes);
    // A runtime that pins nothing (containerd before 1.6.22) has an image for sandboxes all the same, and without it no pod starts.
    if (images.length === 0 || images.some(({ pinned }) => pinned)) return images;
    const kept = await sandboxImage(this.connection, call, 'images.list');
    return kept === null ? images : images.map((image) => (isNamed(image, kept) ? { ...image, pinned: true } : image));
  }

  async remove({ image }: { readonly image: ImageSpec }, call: Call): Promise<null> {
    const target = this.target('images.remove', image.image);
    return absentIsSuccess(this.connection.unary(ImageServiceService.removeImage, { image: imageSpecToCri(image) }, call, target));
  }

  async fsInfo(_request: null, call: Call): Promise<readonly FilesystemUse[]> {
    const { imageFilesystems } = await this.connection.unary(ImageServiceService.imageFsInfo, {}, call, this.target('images.fsInfo', ''));
    return imageFilesystems.map(({ fsId, usedBytes, inodesUsed }) => ({
      mountpoint: fsId?.mountpoint ?? '',
      usedBytes: Number(usedBytes?.value ?? 0n),
      inodesUsed: Number(inodesUsed?.value ?? 0n),
    }));
  }

  private target(operation: string, subject: string) {
    return { operation, subject, deadlineMicros: this.connection.requestTimeoutMicros };
  }
}

/** The list may have come in parts, which are one message only together. */
function decodedImages(bytes: Buffer): readonly RuntimeImage[] {
  try {
    return ListImagesResponse.decode(bytes).images.map(imageFromCri);
  } catch (error) {
    throw brokenAnswer(`list answer can't be read: ${error instanceof Error ? error.message : String(error)}`, 'images.list', '');
  }
}

function isNamed({ id, repoTags, repoDigests }: RuntimeImage, name: string): boolean {
  return id === name || repoTags.includes(name) || repoDigests.includes(name);
}

function imageFromCri(image: Image): RuntimeImage {
  return {
    id: image.id,
    repoTags: image.repoTags,
    repoDigests: image.repoDigests,
    sizeBytes: Number(image.size),
    uid: image.uid === undefined ? null : Number(image.uid.value),
    username: image.username,
    pinned: image.pinned,
  };
}
