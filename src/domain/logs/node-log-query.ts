// A node log query (spec/config-and-api.md, 10.6): services of the journal, or one file below the log directory.
// Messages are the Go kubelet's; malformed queries are 400, invalid ones 406.
//
// Invariant: its program arguments are one word each, and a service name has harmless characters only.

import type { NodeLogQueries, NodeLogQuery, NodeLogQueryResult } from '../../ports/inbound/node-log-queries.js';
import type { Instant } from '../../ports/instant.js';
import { formatRfc3339, parseRfc3339 } from '../values/time.js';

const tailLinesMax = 100_000;
const servicesMax = 4;
const serviceNameMax = 256;

/** @param values of a parameter of the request, in order */
export function parseNodeLogQuery(values: (name: string) => readonly string[]): NodeLogQueryResult {
  const asked = values('query');
  if (asked.length === 0) return { kind: 'none' };
  const words = asked.filter((word) => word.trim() !== '');
  const errors: string[] = [];
  if (words.length === 0) errors.push(`unit: Invalid value: ${JSON.stringify(asked)}: unit cannot be empty`);
  const first = (name: string): string => values(name)[0] ?? '';
  const sinceTime = timeOf('sinceTime', first('sinceTime'), errors);
  const untilTime = timeOf('untilTime', first('untilTime'), errors);
  const boot = integerOf('boot', first('boot'), errors);
  const tailLines = integerOf('tailLines', first('tailLines'), errors);
  if (errors.length > 0) return { kind: 'refused', status: 400, message: joined(errors) };
  const isFile = (word: string): boolean => /[/\\]/.test(word);
  const query = { files: words.filter(isFile), services: words.filter((word) => !isFile(word)), sinceTime, untilTime, tailLines, pattern: first('pattern'), boot };
  const problems = problemsOf(query);
  return problems.length > 0 ? { kind: 'refused', status: 406, message: joined(problems) } : { kind: 'query', query };
}

/** Whether it has options besides names; the log files of services don't support any. */
function hasLogOptions({ sinceTime, untilTime, tailLines, pattern, boot }: NodeLogQuery): boolean {
  return sinceTime !== null || untilTime !== null || tailLines !== null || pattern !== '' || boot !== null;
}

/** Arguments of journalctl(1). */
export function journalArguments(query: NodeLogQuery, services: readonly string[]): readonly string[] {
  const { sinceTime, untilTime, tailLines, pattern, boot } = query;
  return [
    ...['--utc', '--no-pager', '--output=short-precise'],
    ...(sinceTime === null ? [] : [`--since=${journalTime(sinceTime)}`]),
    ...(untilTime === null ? [] : [`--until=${journalTime(untilTime)}`]),
    ...(tailLines === null ? [] : ['--pager-end', `--lines=${tailLines}`]),
    ...services.map((service) => `--unit=${service}`),
    ...(pattern === '' ? [] : [`--grep=${pattern}`]),
    ...(boot === null ? [] : ['--boot', String(boot)]),
  ];
}

/** The files that may hold a service's log, below the directory of logs, the likeliest first. */
function serviceLogFiles(service: string): readonly string[] {
  return [service, `${service}.log`, `${service}/${service}.log`];
}

function problemsOf(query: NodeLogQuery): string[] {
  const { files, services, sinceTime, untilTime, tailLines, pattern, boot } = query;
  const problems: string[] = [];
  if (files.length > 0 && services.length > 0)
    problems.push(`query: Invalid value: ${JSON.stringify(`[${files.join(' ')}], [${services.join(' ')}]`)}: cannot specify a file and service`);
  else if (files.length > 1) problems.push(`query: Invalid value: ${JSON.stringify(files)}: cannot specify more than one file`);
  else if (files.length === 1 && hasLogOptions(query)) problems.push(`query: Invalid value: ${JSON.stringify(files)}: cannot specify file with options`);
  if (sinceTime !== null && untilTime !== null && sinceTime > untilTime) {
    problems.push(`untilTime: Invalid value: ${JSON.stringify(formatRfc3339(untilTime))}: must be after \`sinceTime\``);
  }
  if (boot !== null && boot > 0) problems.push(`boot: Invalid value: ${boot}: must be less than 1`);
  if (tailLines !== null && (tailLines < 0 || tailLines > tailLinesMax)) problems.push(`tailLines: Invalid value: ${tailLines}: must be between 0 and ${tailLinesMax}, inclusive`);
  const wrong = patternProblem(pattern);
  if (wrong !== null) problems.push(`pattern: Invalid value: ${JSON.stringify(pattern)}: ${wrong}`);
  if (services.length > servicesMax) problems.push(`query: Too many: ${services.length}: must have at most ${servicesMax} items`);
  for (const service of services) {
    if (service.length > serviceNameMax) problems.push(`query: Invalid value: ${JSON.stringify(service)}: length must be less than ${serviceNameMax}`);
    if (!/^[a-zA-Z\-_.:0-9@]+$/.test(service)) problems.push(`query: Invalid value: ${JSON.stringify(service)}: input contains unsupported characters`);
  }
  return problems;
}

/** journalctl decides on patterns; this finds those that are always invalid. */
function patternProblem(pattern: string): string | null {
  try {
    new RegExp(pattern);
    return null;
  } catch {
    const open = pattern.lastIndexOf('[');
    return open >= 0 && !pattern.slice(open).includes(']')
      ? `error parsing regexp: missing closing ]: \`${pattern.slice(open)}\``
      : `error parsing regexp: invalid pattern: \`${pattern}\``;
  }
}

function timeOf(name: string, text: string, errors: string[]): Instant | null {
  if (text === '') return null;
  const time = parseRfc3339(text);
  if (time === null) errors.push(`${name}: Invalid value: ${JSON.stringify(text)}: invalid time format`);
  return time;
}

function integerOf(name: string, text: string, errors: string[]): number | null {
  if (text === '') return null;
  if (/^[+-]?\d{1,15}$/.test(text)) return Number(text);
  const why = /^[+-]?\d+$/.test(text) ? 'value out of range' : 'invalid syntax';
  errors.push(`${name}: Invalid value: ${JSON.stringify(text)}: strconv.Atoi: parsing ${JSON.stringify(text)}: ${why}`);
  return null;
}

function joined(errors: readonly string[]): string {
  return errors.length === 1 ? (errors[0] ?? '') : `[${errors.join(', ')}]`;
}

/** `2026-01-02 03:04:05`, in UTC. */
function journalTime(time: Instant): string {
  return formatRfc3339(time).slice(0, 19).replace('T', ' ');
}

export const nodeLogQueries: NodeLogQueries = { parse: parseNodeLogQuery, hasOptions: hasLogOptions, journalArguments, serviceFiles: serviceLogFiles };
