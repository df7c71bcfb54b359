// Probing over the network; see network-probing.ts.
export { NetworkProbing } from './network-probing.js';
