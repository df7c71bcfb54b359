// The name of SPDY/3.1 in the header `Upgrade`.
export const spdyUpgrade = 'SPDY/3.1';
