// The same against servers that speak HTTP/1.1 only.
import { onlyHttp1 } from './api-peer.js';

onlyHttp1();
await import('./api-client.test.js');
