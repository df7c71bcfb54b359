// The face of the HTTP server adapter.
export { healthRoutes, pingOnly } from './health-routes.js';
export { defaultHttpLimits, type HttpLimits, type LoopbackHttpOptions, LoopbackHttpServer } from './loopback-http-server.js';
export { podsRoutes } from './pods-route.js';
export type { Route } from './route-table.js';
