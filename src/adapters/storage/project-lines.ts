// The texts of /etc/projects (`<number>:<directory>`) and /etc/projid (`<name>:<number>`), as xfs_quota(8) and the Go kubelet read and write them.
// Texts are one character a byte, so that text that isn't UTF-8 stays unchanged.
// Invariants: a line of another program is kept as it is, comments too; a project's name is removed with its last directory.
import { firstProjectId } from '../../ports/outbound/project-quotas.js';

export interface ProjectTexts {
  readonly projects: string;
  readonly projid: string;
}

const projectLine = /^([0-9]+):([^\n]*)$/;
const projidLine = /^([^#][^:]*):([0-9]+)$/;

interface ProjectDirectory {
  readonly projectId: number;
  readonly directory: string;
}

export function asBytes(path: string): string {
  return Buffer.from(path, 'utf8').toString('latin1');
}

function linesOf(text: string): string[] {
  return text === '' ? [] : (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
}

function textOf(lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

function directoryOf(line: string): ProjectDirectory | null {
  const match = projectLine.exec(line);
  return match === null ? null : { projectId: Number(match[1]), directory: match[2]! };
}

function namedProject(line: string): number | null {
  const match = projidLine.exec(line);
  return match === null ? null : Number(match[2]);
}

export function recordedDirectories({ projects }: Pick<ProjectTexts, 'projects'>): ProjectDirectory[] {
  return linesOf(projects).flatMap((line) => directoryOf(line) ?? []);
}

/** Every recorded project number. */
export function recordedProjects({ projects, projid }: ProjectTexts): ReadonlySet<number> {
  return new Set([...recordedDirectories({ projects }).map(({ projectId }) => projectId), ...linesOf(projid).flatMap((line) => namedProject(line) ?? [])]);
}

/** Adds the directory's line and the project's name if missing. */
export function withDirectory(texts: ProjectTexts, directory: string, projectId: number): ProjectTexts {
  const { projects, projid } = texts;
  const hasLine = recordedDirectories(texts).some((line) => line.directory === directory);
  const hasName = linesOf(projid).some((line) => namedProject(line) === projectId);
  return {
    projects: hasLine ? projects : textOf([...linesOf(projects), `${projectId}:${directory}`]),
    projid: hasName ? projid : textOf([...linesOf(projid), `volume${projectId}:${projectId}`]),
  };
}

/** Takes the directory's line away, and the project's name if no other directory belongs to it. */
export function withoutDirectory(texts: ProjectTexts, directory: string): ProjectTexts {
  const before = recordedDirectories(texts);
  const gone = new Set(before.flatMap((line) => (line.directory === directory && line.projectId >= firstProjectId ? [line.projectId] : [])));
  if (gone.size === 0) return texts;
  const stillUsed = new Set(before.flatMap((line) => (line.directory === directory ? [] : [line.projectId])));
  const isOfDirectory = (line: ProjectDirectory | null) => line !== null && line.directory === directory && gone.has(line.projectId);
  const isName = (projectId: number | null) => projectId !== null && gone.has(projectId) && !stillUsed.has(projectId);
  return {
    projects: textOf(linesOf(texts.projects).filter((line) => !isOfDirectory(directoryOf(line)))),
    projid: textOf(linesOf(texts.projid).filter((line) => !isName(namedProject(line)))),
  };
}
