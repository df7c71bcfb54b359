// The names that Kubernetes accepts: DNS-1123 labels and subdomains, qualified names, label values, port names, environment variables.
// Each check answers with the problems it found, in the API machinery's words; an empty list means the name is good.
import { utf8Length } from './utf8.js';

const labelFormat = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const qualifiedFormat = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const subdomainPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const qualifiedPattern = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

const maxLabelLength = 63;
const maxSubdomainLength = 253;

function tooLong(max: number): string {
  return `must be no more than ${max} characters`;
}

function formatProblem(message: string, format: string, ...examples: readonly string[]): string {
  const quoted = examples.map((example) => `'${example}'`).join(' or ');
  return `${message} (e.g. ${quoted.replaceAll(' or ', ',  or ')}, regex used for validation is '${format}')`;
}

export function dns1123LabelProblems(name: string): string[] {
  const problems: string[] = [];
  if (utf8Length(name) > maxLabelLength) problems.push(tooLong(maxLabelLength));
  if (!labelPattern.test(name)) {
    problems.push(
      subdomainPattern.test(name)
        ? 'must not contain dots'
        : formatProblem(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
            labelFormat,
            'my-name',
            '123-abc',
          ),
    );
  }
  return problems;
}

export function dns1123SubdomainProblems(name: string): string[] {
  const problems: string[] = [];
  if (utf8Length(name) > maxSubdomainLength) problems.push(tooLong(maxSubdomainLength));
  if (!subdomainPattern.test(name)) {
    problems.push(
      formatProblem(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
        `${labelFormat}(\\.${labelFormat})*`,
        'example.com',
      ),
    );
  }
  return problems;
}

export function isDns1123Label(name: string): boolean {
  return name.length <= maxLabelLength && labelPattern.test(name);
}

export function isDns1123Subdomain(name: string): boolean {
  return name.length <= maxSubdomainLength && subdomainPattern.test(name);
}

/** `[prefix/]name`, as label and annotation keys and resource names are. */
export function qualifiedNameProblems(text: string): string[] {
  const parts = text.split('/');
  const problems: string[] = [];
  if (parts.length > 2) {
    const format = formatProblem(
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
      qualifiedFormat,
      'MyName',
      'my.name',
      '123-abc',
    );
    return [`a valid label key ${format} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const name = parts[parts.length - 1] as string;
  const prefix = parts.length === 2 ? (parts[0] as string) : null;
  if (prefix === '') problems.push('prefix part must be non-empty');
  else if (prefix !== null) problems.push(...dns1123SubdomainProblems(prefix).map((problem) => `prefix part ${problem}`));
  if (name.length === 0) problems.push('name part must be non-empty');
  else if (utf8Length(name) > maxLabelLength) problems.push(`name part ${tooLong(maxLabelLength)}`);
  if (!qualifiedPattern.test(name)) {
    const message = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
    problems.push(formatProblem(message, qualifiedFormat, 'MyName', 'my.name', '123-abc'));
  }
  return problems;
}

export function labelValueProblems(value: string): string[] {
  const problems: string[] = [];
  if (utf8Length(value) > maxLabelLength) problems.push(tooLong(maxLabelLength));
  if (value !== '' && !qualifiedPattern.test(value)) {
    const message = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
    problems.push(formatProblem(message, `(${qualifiedFormat})?`, 'MyValue', 'my_value', '12345'));
  }
  return problems;
}

/** IANA service names, as container ports use them. */
export function portNameProblems(name: string): string[] {
  const problems: string[] = [];
  if (utf8Length(name) > 15) problems.push('must be no more than 15 bytes');
  if (!/^[-a-z0-9]+$/.test(name)) problems.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(name)) problems.push('must contain at least one letter (a-z)');
  if (name.includes('--')) problems.push('must not contain consecutive hyphens');
  if (name.startsWith('-') || name.endsWith('-')) problems.push('must not begin or end with a hyphen');
  return problems;
}

/** Any printable ASCII but `=`, which the relaxed rule for environment variable names allows. */
export function envVarNameProblems(name: string): string[] {
  if (name !== '' && /^[ -<>-~]+$/.test(name)) return [];
  return ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
}
