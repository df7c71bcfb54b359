// No image of a container is removed, running or not.
import type { Checker } from './checker.js';

export const usedImageStays: Checker<null> = {
  name: 'used-image-stays',
  fresh: () => null,
  look(_memory, what, { runtime }, report) {
    if (what.kind !== 'command' || what.command.op !== 'images.remove') return;
    const { image } = what.command.request.image;
    const removed = [...runtime.images.values()].find(({ id, repoTags, repoDigests }) => id === image || repoTags.includes(image) || repoDigests.includes(image));
    const user = [...runtime.containers.values()].find(({ imageId }) => imageId === removed?.id);
    if (user !== undefined) report(`image ${image} is removed, container ${user.id} is made of it`);
  },
};
