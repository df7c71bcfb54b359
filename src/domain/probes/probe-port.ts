// The port that a probe names: a number, the name of one of the container's ports, or a number written as text.
import type { ContainerPort, IntOrString } from '../../ports/model/container.js';
import { type GoParse, goQuote } from '../values/go-text.js';

const maxInt64 = 2n ** 63n - 1n;

export function resolveProbePort(port: IntOrString, containerPorts: readonly ContainerPort[]): GoParse<number> {
  const number = typeof port === 'number' ? { ok: true as const, value: port } : portOfText(port, containerPorts);
  if (!number.ok || (number.value > 0 && number.value < 65536)) return number;
  return { ok: false, error: `invalid port number: ${number.value}` };
}

function portOfText(text: string, containerPorts: readonly ContainerPort[]): GoParse<number> {
  const named = containerPorts.find(({ name }) => name === text);
  if (named !== undefined) return { ok: true, value: named.containerPort };
  const problem = (reason: string): GoParse<number> => ({ ok: false, error: `strconv.Atoi: parsing ${goQuote(text)}: ${reason}` });
  if (!/^[+-]?[0-9]+$/.test(text)) return problem('invalid syntax');
  const digits = text.replace(/^\+/, '');
  const fits = digits.length <= 40 && BigInt(digits) <= maxInt64 && BigInt(digits) >= -maxInt64 - 1n;
  return fits ? { ok: true, value: Number(digits) } : problem('value out of range');
}
