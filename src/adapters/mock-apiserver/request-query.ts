// The options of a request, as its query has them.
import { badRequest, type FieldValidation, type ListOptions } from '../../sim/index.js';

export interface RequestQuery extends ListOptions {
  readonly watch: boolean;
  readonly bookmarks: boolean;
  readonly sendInitialEvents: boolean;
  readonly timeoutSeconds: number | null;
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation | null;
  readonly fieldManager: string | null;
  readonly force: boolean;
  readonly includeObject: string;
  /** Of a deletion without a body. */
  readonly gracePeriodSeconds: number | null;
}

const validations: readonly string[] = ['Strict', 'Warn', 'Ignore'];

/** Throws the server's refusals. */
export function readQuery(parameters: URLSearchParams): RequestQuery {
  const text = (name: string): string | null => parameters.get(name);
  const flag = (name: string): boolean => ['true', '1', ''].includes(parameters.get(name) ?? 'false');
  const number = (name: string): number | null => {
    const given = parameters.get(name);
    if (given === null || given === '') return null;
    if (!/^-?\d{1,10}$/.test(given)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(given)}: invalid syntax`);
    return Number(given);
  };
  const validation = text('fieldValidation');
  if (validation !== null && validation !== '' && !validations.includes(validation)) {
    throw badRequest(`CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: ${JSON.stringify(validation)}: supported values: "Ignore", "Warn", "Strict"`);
  }
  return {
    watch: flag('watch'),
    bookmarks: flag('allowWatchBookmarks'),
    sendInitialEvents: flag('sendInitialEvents'),
    timeoutSeconds: number('timeoutSeconds'),
    fieldSelector: text('fieldSelector'),
    labelSelector: text('labelSelector'),
    resourceVersion: text('resourceVersion'),
    resourceVersionMatch: text('resourceVersionMatch'),
    limit: number('limit'),
    continueToken: text('continue'),
    dryRun: parameters.getAll('dryRun').includes('All'),
    fieldValidation: validation === null || validation === '' ? null : (validation as FieldValidation),
    fieldManager: text('fieldManager'),
    force: flag('force'),
    includeObject: text('includeObject') ?? 'Metadata',
    gracePeriodSeconds: number('gracePeriodSeconds'),
  };
}
