// A connection that is closed as soon as it is established.
import { connect } from 'node:net';
import { addressText } from '../../domain/values/address-text.js';
import type { TcpAnswer, TcpRequest } from '../../ports/outbound/probing.js';
import { connectionErrorText, dialTimeoutText } from './connection-errors.js';

export function tcpConnect({ host, port, timeoutMicros }: TcpRequest, signal: AbortSignal): Promise<TcpAnswer> {
  const address = addressText(host, port);
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const settle = (error: string | null): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      socket.destroy();
      resolve({ error });
    };
    const abort = (): void => settle('operation was canceled');
    const timer = setTimeout(() => settle(dialTimeoutText(address)), timeoutMicros / 1_000);
    signal.addEventListener('abort', abort);
    socket.on('connect', () => settle(null));
    socket.on('error', (error) => settle(connectionErrorText(error, address)));
  });
}
