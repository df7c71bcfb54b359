// Maps requests to handlers, and answers those without a handler.
// Invariant: a handler sees clean paths only; a path with `//`, `.` or `..` in it is redirected to its clean form first.
import { cleanPath } from '../../domain/values/slash-paths.js';
import { accepts } from './accepts.js';
import { type HttpAnswer, methodNotAllowed, notAcceptable, notFound, plainText, redirect } from './http-answer.js';
import type { StreamAnswer } from './kubelet-routes.js';

export interface HttpQuestion {
  readonly method: string;
  /** Decoded and clean. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string;
}

export interface Route {
  /** The whole path; one that ends in `/` also takes everything below. */
  readonly path: string;
  /** null: any method. */
  readonly methods: readonly string[] | null;
  /** The one media type that it produces; null: any accepted type. */
  readonly produces: string | null;
  /** Null: not found after all. */
  answer(question: HttpQuestion): HttpAnswer | StreamAnswer | null;
}

/** Answers one request. Throws a handler's error. */
export function answerOf(routes: readonly Route[], method: string, target: string, accept: string): HttpAnswer | StreamAnswer {
  const parsed = parseTarget(target);
  if (parsed === null) return plainText(400, '400 Bad Request', { Connection: 'close' });
  const { path, query } = parsed;
  const clean = cleanRequestPath(path);
  if (clean !== path) return redirect(method, encodeURI(clean).replace(/[?#]/g, encodeURIComponent) + (query === '' ? '' : `?${query}`));
  const route = routes.find((one) => one.path === path || (one.path.endsWith('/') && path.startsWith(one.path)));
  if (route === undefined) return notFound;
  if (route.methods !== null && !route.methods.includes(method)) return methodNotAllowed(route.methods);
  if (route.produces !== null && !accepts(accept, route.produces)) return notAcceptable(route.produces);
  return route.answer({ method, path, query: new URLSearchParams(query), accept }) ?? notFound;
}

/** Origin form (`/pods?x`) or absolute form (`http://host/pods?x`); null for anything else. */
function parseTarget(target: string): { readonly path: string; readonly query: string } | null {
  const origin = target.replace(/^https?:\/\/[^/?]*/i, '');
  const [raw = '', ...rest] = origin.split('?');
  if (!raw.startsWith('/')) return null;
  try {
    const path = decodeURIComponent(raw);
    return path.includes('\0') ? null : { path, query: rest.join('?') };
  } catch {
    return null;
  }
}

function cleanRequestPath(path: string): string {
  const clean = cleanPath(path);
  return path.endsWith('/') && clean !== '/' ? `${clean}/` : clean;
}
