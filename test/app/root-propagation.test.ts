// Whether mounts that containers make are seen outside of them, by the kernel's table of mounts.
import t from 'tap';
import { rootPropagationProblem } from '../../src/app/daemon/root-propagation.js';

const line = (id: number, mountPoint: string, tags: string) => `${id} 1 8:1 / ${mountPoint} rw,relatime ${tags} - ext4 /dev/sda1 rw`.replace('  ', ' ');
const rows: readonly (readonly [sentence: string, lines: readonly string[], problem: RegExp | null])[] = [
  ['all is shared', [line(1, '/', 'shared:1')], null],
  ['nothing is', [line(1, '/', '')], /the mount at \/ is not shared: .*; mount --make-rshared \/$/],
  ['the nearest mount counts', [line(1, '/', 'shared:1'), line(2, '/var', 'master:3')], /^the mount at \/var is not shared/],
  ['a shared one in one that is not', [line(1, '/', ''), line(2, '/var/lib/kubelet', 'shared:9')], null],
  ['of several on one place the last', [line(1, '/', 'shared:1'), line(2, '/var', 'shared:2'), line(3, '/var', '')], /^the mount at \/var/],
  ['a name that only begins alike', [line(1, '/', 'shared:1'), line(2, '/var/lib/kube', '')], null],
];
for (const [sentence, lines, problem] of rows) {
  t.test(sentence, async (t) => {
    const found = rootPropagationProblem('/var/lib/kubelet', `${lines.join('\n')}\n`);
    if (problem === null) t.equal(found, null);
    else t.match(found, problem);
  });
}
