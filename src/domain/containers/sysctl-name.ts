// Names of kernel parameters: `net.ipv4.ip_forward` and `net/ipv4/ip_forward` are the same one.

/** With dots between the parts. If the first separator is a slash, a dot is part of a name (`net/ipv4/conf/eth0.1/arp`) and becomes a slash. */
export function normalSysctlName(name: string): string {
  const separator = /[./]/.exec(name)?.[0];
  if (separator !== '/') return name;
  return name.replace(/[./]/g, (char) => (char === '/' ? '.' : '/'));
}
