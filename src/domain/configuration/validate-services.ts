// Validation of the agent's services: image verification, container logs, its own logging and tracing.
// Invariant: logging is validated before everything else, since all other messages are logged.

import { formatDuration, nanosPerSecond } from '../values/go-duration.js';
import { goQuote } from '../values/go-text.js';
import { isZeroQuantity, mustParseQuantity } from '../values/quantity.js';
import { cleanPath, isAbsolutePath } from '../values/slash-paths.js';
import { type FeatureGates, featureEnabled } from './feature-gates.js';
import { allowlistPatternProblem } from './image-pattern.js';
import type { KubeletConfiguration } from './schema.js';

const verificationPolicies: readonly string[] = ['NeverVerify', 'NeverVerifyPreloadedImages', 'NeverVerifyAllowlistedImages', 'AlwaysVerify'];

export function imageVerificationProblems(c: KubeletConfiguration, gates: FeatureGates): string[] {
  const policy = c.imagePullCredentialsVerificationPolicy;
  const allowlist = c.preloadedImagesVerificationAllowlist;
  if (!featureEnabled(gates, 'KubeletEnsureSecretPulledImages')) {
    const set = [...(policy === '' ? [] : ['imagePullCredentialsVerificationPolicy']), ...(allowlist.length === 0 ? [] : ['preloadedImagesVerificationAllowlist'])];
    return set.map((field) => `\`${field}\` must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled`);
  }
  const problems: string[] = [];
  if (!verificationPolicies.includes(policy)) {
    const last = verificationPolicies.length - 1;
    const options = `${verificationPolicies.slice(0, last).map(goQuote).join(', ')} or ${goQuote(verificationPolicies[last] as string)}`;
    problems.push(`option ${goQuote(policy)} specified for imagePullCredentialsVerificationPolicy. Valid options are ${options}`);
  }
  if (allowlist.length > 0 && policy !== 'NeverVerifyAllowlistedImages') {
    // The second name is spelled as it always was.
    problems.push('can\'t set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVertificationPolicy` is not "NeverVerifyAllowlistedImages"');
  } else if (allowlist.length > 0) {
    const problem = allowlist.map(allowlistPatternProblem).find((found) => found !== null);
    if (problem !== undefined) problems.push(`invalid image pattern in \`preloadedImagesVerificationAllowlist\`: ${problem}`);
  }
  return problems;
}

export function logProblems(c: KubeletConfiguration): string[] {
  const directory = c.podLogsDir;
  const problems: string[] = [];
  if (c.containerLogMaxWorkers < 1) problems.push('containerLogMaxWorkers must be greater than or equal to 1');
  if (c.containerLogMonitorInterval < 3 * nanosPerSecond) problems.push('containerLogMonitorInterval must be a positive time duration greater than or equal to 3s');
  if (c.containerLogMaxFiles <= 1) problems.push('containerLogMaxFiles must be greater than 1');
  if (directory === '') problems.push('podLogsDir was not specified');
  if (!isAbsolutePath(directory)) problems.push(`pod logs path ${goQuote(directory)} must be absolute path`);
  if (cleanPath(directory) !== directory) problems.push(`pod logs path ${goQuote(directory)} must be normalized`);
  // The path is part of metrics.
  if (/[^\u0000-\u007f]/.test(directory)) problems.push(`pod logs path ${goQuote(directory)} mut contains ASCII characters only`);
  return problems;
}

export function tracingProblems(c: KubeletConfiguration): string[] {
  if (c.tracing === null) return [];
  const { endpoint, samplingRatePerMillion: rate } = c.tracing;
  const problems: string[] = [];
  const rateLabel = `tracing.samplingRatePerMillion: Invalid value: ${rate}`;
  if (rate !== null && rate < 0) problems.push(`${rateLabel}: sampling rate must be positive`);
  if (rate !== null && rate > 1_000_000) problems.push(`${rateLabel}: sampling rate per million must be less than or equal to one million`);
  if (endpoint !== null) {
    const problem = endpointProblem(endpoint);
    if (problem !== null) problems.push(problem);
  }
  return problems;
}

function endpointProblem(endpoint: string): string | null {
  const url = endpoint.includes('//') ? endpoint : `dns://${endpoint}`;
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(url)?.[1]?.toLowerCase() ?? '';
  if (['dns', 'unix', 'unix-abstract'].includes(scheme)) return null;
  const options = 'Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md';
  return `tracing.endpoint: Invalid value: ${goQuote(url)}: unsupported scheme: ${scheme}.  ${options}`;
}

const maxVerbosity = 2 ** 31 - 1;

/** The agent's own logging. */
export function loggingProblems(c: KubeletConfiguration, gates: FeatureGates): string[] {
  const { format, flushFrequency, verbosity, vmodule, options } = c.logging;
  const problems: string[] = [];
  if (format !== 'text' && format !== 'json') problems.push(`logging.format: Invalid value: ${goQuote(format)}: Unsupported log format`);
  if (format === 'json' && !featureEnabled(gates, 'LoggingBetaOptions')) problems.push('logging.format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature');
  if (flushFrequency.nanos <= 0) problems.push(`logging.flushFrequency: Invalid value: ${goQuote(formatDuration(flushFrequency.nanos))}: Must be greater than zero`);
  if (verbosity > maxVerbosity) problems.push(`logging.verbosity: Invalid value: ${verbosity}: Must be <= ${maxVerbosity}`);
  if (vmodule.length > 0 && format !== 'text') problems.push('logging.vmodule: Forbidden: Only supported for text log format');
  for (const [i, item] of vmodule.entries()) {
    const label = `logging.vmodule[${i}]`;
    if (item.filePattern === '') problems.push(`${label}: Required value: File pattern must not be empty`);
    if (/[=,]/.test(item.filePattern)) problems.push(`${label}: Invalid value: ${goQuote(item.filePattern)}: File pattern must not contain equal sign or comma`);
    if (item.verbosity > maxVerbosity) problems.push(`${label}: Invalid value: ${item.verbosity}: Must be <= ${maxVerbosity}`);
  }
  if (featureEnabled(gates, 'LoggingAlphaOptions')) return problems;
  for (const output of ['text', 'json'] as const) {
    const forbidden = (field: string): string => `logging.options.${output}.${field}: Forbidden: Feature LoggingAlphaOptions is disabled`;
    if (options[output].splitStream) problems.push(forbidden('splitStream'));
    if (!isZeroQuantity(mustParseQuantity(options[output].infoBufferSize))) problems.push(forbidden('infoBufferSize'));
  }
  return problems;
}
