// PEM: bytes as text with a label.

export function pemOf(label: string, bytes: Uint8Array): string {
  const lines =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

/** The bytes of the first block with that label. Throws if it is absent. */
export function pemBytes(pem: string, label: string): Buffer {
  const match = new RegExp(`-----BEGIN ${label}-----([A-Za-z0-9+/=\\s]*)-----END ${label}-----`).exec(pem);
  if (match === null) throw new Error(`there is no ${label} in the PEM text`);
  return Buffer.from(match[1] as string, 'base64');
}
