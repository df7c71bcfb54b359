// The face of the HTTP server adapter.

export { type AccessReviews, type AnsweredReview, ApiAccessReviews, type UserInfo } from './access/access-reviews.js';
export { Authenticator } from './access/authenticators.js';
export { type Authorizer, alwaysAllow, WebhookAuthorizer } from './access/authorizers.js';
export { ClientCertificates } from './access/client-certificates.js';
export { Drain, type DrainingOutput } from './drain.js';
export { healthRoutes, pingOnly } from './health-routes.js';
export { goJson, type HttpAnswer, plainText, strictText } from './http-answer.js';
export type { KubeletAnswer, KubeletQuestion, KubeletRoute } from './kubelet-routes.js';
export { type BegunRequest, KubeletServer, type KubeletServerOptions, type ServedRequest } from './kubelet-server.js';
export { isLoopback } from './loopback-address.js';
export { defaultHttpLimits, type HttpLimits, type LoopbackHttpOptions, LoopbackHttpServer } from './loopback-http-server.js';
export { type LivePageOptions, openLivePage } from './page/live-page.js';
export { podsRoutes } from './pods-route.js';
export type { AccessRules } from './request-access.js';
export type { RequestTrace, TracedRequest } from './request-trace.js';
export type { Route } from './route-table.js';
export { type ContainerLogParts, containerLogRoutes } from './routes/container-log-routes.js';
export { type Journal, nodeLogQueryRoute } from './routes/node-log-query.js';
export { disabledRoute, type LogEntry, nodeLogRoute, type OpenLogEntry } from './routes/node-log-routes.js';
export { type ProfileSources, profileRoute } from './routes/profile-routes.js';
export { checkpointRoute, configzRoute, healthKubeletRoutes, podRoutes, type RunningPod, runningPodsRoute } from './routes/state-routes.js';
export { type MetricsPage, metricsRoute, type SummaryOutcome, statsSummaryRoute } from './routes/stats-routes.js';
export { streamRoutes } from './routes/stream-routes.js';
export { flagzRoute, type StatusFacts, statuszRoute, verbosityRoute } from './routes/z-pages.js';
export { type ServerTls, supportedTls } from './tls-context.js';
export { answerOnSocket, proxyUpgrade } from './upgrade-proxy.js';
