// The mock's own API, under `/mock`: the audit log, and fault injection. For administrators, by `kubectl ... --raw`.
//
// | request              | does                                                                    |
// |----------------------|-------------------------------------------------------------------------|
// | GET /mock/audit      | the last requests, oldest first                                         |
// | GET /mock/faults     | how often each rule applied                                             |
// | PUT /mock/faults     | replaces the rules; `[]`: no faults;                                    |
// |                      | with `?nodes=true` they apply only to requests of nodes                 |
// | POST /mock/cut       | breaks every watch                                                      |
// | POST /mock/compact   | every version but the newest is too old from now on                     |
import { type ApiFaultAction, type ApiFaultRule, badRequest, noSuchPath, type SimApiserver } from '../../sim/index.js';

export const controlsPrefix = '/mock';

/** The answer's body. Throws refusals. @param ofNodes faults apply to nodes only */
export function answerControl(server: SimApiserver, method: string, path: string, ofNodes: boolean, body: unknown, now: number): object {
  switch (`${method} ${path}`) {
    case 'GET /mock/audit':
      return { entries: server.audit.entries };
    case 'GET /mock/faults':
      return { counts: server.faultCounts };
    case 'PUT /mock/faults': {
      const rules = readRules(body);
      server.setFaults(rules, now, ofNodes);
      return { rules: rules.length };
    }
    case 'POST /mock/cut':
      return { cut: server.watches.cut(() => true) };
    case 'POST /mock/compact':
      server.store.compact();
      return { revision: server.store.revision };
    default:
      throw noSuchPath();
  }
}

/** Action -> its fields. */
const actionFields: Readonly<Record<ApiFaultAction['kind'], Readonly<Record<string, 'number' | 'string' | 'number or null'>>>> = {
  error: { code: 'number', message: 'string', retryAfterSeconds: 'number or null' },
  lost: {},
  latency: { micros: 'number' },
  stale: { versions: 'number' },
  cut: { afterMicros: 'number' },
  silent: {},
};
const triggerFields = ['nth', 'probability', 'fromMicros', 'untilMicros', 'times'];

function readRules(body: unknown): ApiFaultRule[] {
  if (!Array.isArray(body)) throw badRequest('faults: expected a list of rules');
  return body.map((rule: unknown, i) => readRule(rule, `faults[${i}]`));
}

function readRule(rule: unknown, at: string): ApiFaultRule {
  const { operation, trigger = {}, action } = recordOf(rule, at);
  if (typeof operation !== 'string' || !/^(\*|[a-z]+\.(\*|[a-z/]+))$/.test(operation)) throw badRequest(`${at}.operation: expected verb.collection, verb.* or *`);
  const given = recordOf(trigger, `${at}.trigger`);
  for (const [name, value] of Object.entries(given)) {
    if (!triggerFields.includes(name)) throw badRequest(`${at}.trigger: unknown field ${JSON.stringify(name)}; there are ${triggerFields.join(', ')}`);
    const isFine = typeof value === 'number' && value >= 0 && (name !== 'probability' || value <= 1) && (name !== 'nth' || (Number.isInteger(value) && value >= 1));
    if (!isFine) throw badRequest(`${at}.trigger.${name}: ${JSON.stringify(value)} can't be`);
  }
  return { operation, trigger: given, action: readAction(action, `${at}.action`) };
}

function readAction(action: unknown, at: string): ApiFaultAction {
  const given = recordOf(action, at);
  const kind = String(given.kind);
  const fields = Object.hasOwn(actionFields, kind) ? actionFields[kind as ApiFaultAction['kind']] : null;
  if (fields === null) throw badRequest(`${at}.kind: expected one of ${Object.keys(actionFields).join(', ')}`);
  const read: Record<string, unknown> = { kind: given.kind };
  for (const [name, wanted] of Object.entries(fields)) {
    const value = given[name] ?? (wanted === 'number or null' ? null : undefined);
    if (typeof value !== wanted.split(' ')[0] && !(value === null && wanted.endsWith('null'))) throw badRequest(`${at}.${name}: expected a ${wanted}`);
    if (typeof value === 'number' && (name === 'code' ? !isRefusal(value) : value < 0))
      throw badRequest(`${at}.${name}: ${value} can't be; expected ${name === 'code' ? '400 to 599' : 'none below 0'}`);
    read[name] = value;
  }
  return read as unknown as ApiFaultAction;
}

function isRefusal(code: number): boolean {
  return Number.isInteger(code) && code >= 400 && code <= 599;
}

function recordOf(value: unknown, at: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw badRequest(`${at}: expected an object`);
  return value as Record<string, unknown>;
}
