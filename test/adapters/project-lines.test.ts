// The texts of /etc/projects and /etc/projid: what is added, what is taken away, and that other people's lines are never touched.
import fc from 'fast-check';
import t from 'tap';
import { asBytes, recordedDirectories, recordedProjects, withDirectory, withoutDirectory } from '../../src/adapters/storage/project-lines.js';

const theirs = { projects: '# people’s own\n42:/srv/data\n\nnot a line\n1048577:/elsewhere\n', projid: '# names\nweb:42\nvolume1048577:1048577\n' };

const rows: readonly (readonly [string, () => unknown, unknown])[] = [
  ['empty files get their first lines', () => withDirectory({ projects: '', projid: '' }, '/v', 1_048_577), { projects: '1048577:/v\n', projid: 'volume1048577:1048577\n' }],
  [
    'what people wrote stays in front',
    () => withDirectory(theirs, '/v', 1_048_578),
    { projects: `${theirs.projects}1048578:/v\n`, projid: `${theirs.projid}volume1048578:1048578\n` },
  ],
  [
    'a last line without its end is ended',
    () => withDirectory({ projects: '42:/srv', projid: 'web:42' }, '/v', 1_048_577),
    { projects: '42:/srv\n1048577:/v\n', projid: 'web:42\nvolume1048577:1048577\n' },
  ],
  ['a directory that is recorded isn’t again', () => withDirectory(theirs, '/elsewhere', 1_048_577), theirs],
  [
    'a name that a kill left out is added',
    () => withDirectory({ projects: '1048577:/v\n', projid: '' }, '/v', 1_048_577),
    { projects: '1048577:/v\n', projid: 'volume1048577:1048577\n' },
  ],
  ['the last directory takes the name along', () => withoutDirectory(withDirectory(theirs, '/v', 1_048_578), '/v'), theirs],
  [
    'a project that another directory belongs to keeps its name',
    () => withoutDirectory({ projects: '1048577:/a\n1048577:/b\n', projid: 'volume1048577:1048577\n' }, '/a'),
    { projects: '1048577:/b\n', projid: 'volume1048577:1048577\n' },
  ],
  ['a directory that isn’t recorded', () => withoutDirectory(theirs, '/none'), theirs],
  ['a directory that people recorded', () => withoutDirectory(theirs, '/srv/data'), theirs],
  [
    'a directory that people recorded for a project of theirs, and we for ours',
    () => withoutDirectory({ projects: '42:/v\n1048577:/v\n', projid: 'web:42\nvolume1048577:1048577\n' }, '/v'),
    { projects: '42:/v\n', projid: 'web:42\n' },
  ],
  ['a comment that looks like a line', () => recordedDirectories({ projects: '#1:/a\n 2:/b\n3:/c:d\n' }), [{ projectId: 3, directory: '/c:d' }]],
  ['every number that is written down', () => [...recordedProjects({ projects: '7:/a\n9:/b\n', projid: '#c:1\nname:8\nodd\n' })], [7, 9, 8]],
];

for (const [sentence, run, expected] of rows) {
  t.test(sentence, async (t) => {
    t.strictSame(run(), expected);
  });
}

const line = fc.oneof(
  fc.constantFrom('', '# a comment', '42:/srv', 'web:42', '1048577:/v/of/others', 'volume1048577:1048577', 'x'),
  fc.string({ maxLength: 12 }).map((text) => asBytes(text).replaceAll('\n', '')),
);
const texts = fc.record({ projects: fc.array(line), projid: fc.array(line) }).map(({ projects, projid }) => ({
  projects: projects.map((text) => `${text}\n`).join(''),
  projid: projid.map((text) => `${text}\n`).join(''),
}));

t.test('whatever is in the files, what is added and taken away again leaves them as they were', async (t) => {
  const path = asBytes('/var/lib/kubelet/pods/ü/volumes/a/b');
  fc.assert(
    fc.property(texts, fc.integer({ min: 1_048_577, max: 1_048_590 }), (before, projectId) => {
      fc.pre(!recordedProjects(before).has(projectId));
      const after = withoutDirectory(withDirectory(before, path, projectId), path);
      return after.projects === before.projects && after.projid === before.projid;
    }),
  );
  t.pass('for a hundred of them');
});
