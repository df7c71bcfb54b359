// Which addresses are loopback addresses of this host.
import { isIPv4, isIPv6 } from 'node:net';

/** 127.0.0.0/8 or ::1, as numbers: a name is none. */
export function isLoopback(address: string): boolean {
  return isIPv4(address) ? address.startsWith('127.') : isIPv6(address) && address === '::1';
}
