// The image service of the mock.
import { type criProtocol, imageSpecFromCri } from '../cri/index.js';
import type { MockRuntime } from './mock-runtime.js';
import { inParts, mapped, refusal, unary } from './rpc.js';
import { imageToCri, nanosOf } from './state-to-cri.js';

export function imageService(mock: MockRuntime): Partial<criProtocol.ImageServiceServer> {
  const { runtime, time } = mock;
  const noImage = refusal('invalid-argument', 'image is not set');
  const listed = (filter: criProtocol.ImageFilter | undefined) =>
    mapped(mock.ask('images.list', null), (images) => {
      const name = filter?.image?.image ?? '';
      const only = name === '' ? null : runtime.images.find(name);
      return (name === '' ? images : images.filter(({ id }) => id === only?.id)).map(imageToCri);
    });
  return {
    listImages: unary(time, ({ filter }) => mapped(listed(filter), (images) => ({ images }))),
    ...(mock.offersListStreams && {
      streamImages: inParts(
        time,
        ({ filter }: criProtocol.StreamImagesRequest) => listed(filter),
        (images) => ({ images }),
      ),
    }),
    imageStatus: unary(time, ({ image }) =>
      image === undefined
        ? noImage
        : mapped(mock.ask('images.status', { image: imageSpecFromCri(image) }), (found) => ({ image: found === null ? undefined : imageToCri(found), info: {} })),
    ),
    pullImage: unary(time, ({ image, auth }) => {
      if (image === undefined) return noImage;
      return mock.ask('images.pull', { image: imageSpecFromCri(image), credentials: auth === undefined ? null : credentialsOf(auth), sandboxConfig: null });
    }),
    removeImage: unary(time, ({ image }) => (image === undefined ? noImage : mapped(mock.ask('images.remove', { image: imageSpecFromCri(image) }), () => ({})))),
    imageFsInfo: unary(time, () =>
      mapped(mock.ask('images.fsInfo', null), (filesystems) => {
        const timestamp = nanosOf(mock.settled());
        const usage = filesystems.map(({ mountpoint, usedBytes, inodesUsed }) => ({
          timestamp,
          fsId: { mountpoint },
          usedBytes: { value: BigInt(usedBytes) },
          inodesUsed: { value: BigInt(inodesUsed) },
        }));
        return { imageFilesystems: usage, containerFilesystems: usage };
      }),
    ),
  };
}

function credentialsOf({ username, password, serverAddress, identityToken, registryToken }: criProtocol.AuthConfig) {
  return { username, password, serverAddress, identityToken, registryToken };
}
