// Connection errors of the apiserver client, in the words of Go's network library: users search for them.
// Invariant: a message names hosts and certificates, never a credential.

const dialReasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  ETIMEDOUT: 'connect: connection timed out',
  EADDRNOTAVAIL: 'connect: cannot assign requested address',
};

const unverified = 'tls: failed to verify certificate: x509: ';
const certificateReasons: Readonly<Record<string, string>> = {
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate signed by unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate signed by unknown authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate signed by unknown authority',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate signed by unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate signed by unknown authority',
  CERT_SIGNATURE_FAILURE: 'certificate signed by unknown authority (its signature does not match)',
  CERT_HAS_EXPIRED: 'certificate has expired or is not yet valid: the current time is after its end',
  CERT_NOT_YET_VALID: 'certificate has expired or is not yet valid: the current time is before its begin',
};

const alerts: readonly (readonly [RegExp, string])[] = [
  [/alert (certificate required|number 116)/i, 'remote error: tls: certificate required'],
  [/alert (certificate expired|number 45)/i, 'remote error: tls: expired certificate'],
  [/alert (bad certificate|number 42)/i, 'remote error: tls: bad certificate'],
  [/alert (unknown ca|number 48)/i, 'remote error: tls: unknown certificate authority'],
  [/alert (certificate unknown|number 46)/i, 'remote error: tls: unknown certificate'],
  [/alert (handshake failure|number 40)/i, 'remote error: tls: handshake failure'],
  [/alert (internal error|number 80)/i, 'remote error: tls: internal error'],
  [/wrong version number|packet length too long|http request/i, 'http: server gave HTTP response to HTTPS client'],
];

/** The peer is silent, even after a ping. */
const connectionLost = 'http2: client connection lost';

/** The connection was made and then broke: a request that only reads may be sent again. */
export function isBrokenConnection(error: unknown): boolean {
  const { code = '', message = '' } = firstOf(error);
  return code === 'ECONNRESET' || code === 'EPIPE' || message === 'socket hang up' || message === 'aborted' || message === connectionLost;
}

/** @param host host and port as in the server's URL */
export function connectionErrorText(error: unknown, host: string): string {
  const { code = '', message } = firstOf(error);
  const dial = dialReasons[code];
  if (dial !== undefined) return `dial tcp ${host}: ${dial}`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `dial tcp: lookup ${host.replace(/:[0-9]+$/, '')}: ${code === 'ENOTFOUND' ? 'no such host' : 'i/o timeout'}`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `${unverified}certificate is not valid for ${host.replace(/:[0-9]+$/, '')} (${message.replace(/^.*?: (?=Host|IP|Cert)/s, '')})`;
  const certificate = certificateReasons[code];
  if (certificate !== undefined) return unverified + certificate;
  const alert = alerts.find(([pattern]) => pattern.test(message));
  if (alert !== undefined) return alert[1];
  if (code === 'ECONNRESET') return message === 'socket hang up' || message === 'aborted' ? 'EOF' : 'read: connection reset by peer';
  if (code === 'EPIPE') return 'write: broken pipe';
  return message;
}

/** A name with several addresses fails with one error each. */
function firstOf(error: unknown): { readonly code?: string; readonly message: string } {
  if (error instanceof AggregateError && error.errors.length > 0) return firstOf(error.errors[0]);
  return error instanceof Error ? error : { message: String(error) };
}
