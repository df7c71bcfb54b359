// `kubelet-ctl mock-csi`: what it refuses, and how it says so.
import t from 'tap';
import { mockCsi } from '../../src/app/cli/mock-csi.js';

const rows: readonly (readonly [sentence: string, words: readonly string[], code: number, said: RegExp])[] = [
  ['help', ['--help'], 0, /^usage: kubelet-ctl mock-csi /],
  ['no driver', ['--plugins', '/p'], 2, /--driver needs a name/],
  ['a driver that leads elsewhere', ['--driver', '../x', '--plugins', '/p'], 2, /--driver needs a name/],
  ['no directory', ['--driver=d'], 2, /--plugins is needed/],
  ['a word that it doesn’t know', ['--speed'], 2, /unknown argument --speed/],
  ['a directory that can’t be made', ['--driver', 'd', '--plugins', '/dev/null/p', '--no-mounts'], 1, /^kubelet-ctl mock-csi: ENOTDIR/],
];
for (const [sentence, words, code, said] of rows) {
  t.test(sentence, async (t) => {
    let text = '';
    const output = { write: (more: string) => (text += more) } as never;
    t.equal(await mockCsi(words, output, output), code);
    t.match(text, said);
  });
}
