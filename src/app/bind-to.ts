// Type-safe wiring: a token represents one type, and its binding must be constructed from exactly the types of its dependencies' tokens.
// Invariant: dependencies that are swapped, missing, or of another type don't compile.
import type { ContainerModuleLoadOptions, ServiceIdentifier } from 'inversify';

declare const tokenOf: unique symbol;

/** Names a dependency of type `T`. `T` is invariant, so that neither a wider nor a narrower type passes. */
export type Token<T> = symbol & { readonly [tokenOf]: (value: T) => T };

export function token<T>(name: string): Token<T> {
  return Symbol(name) as unknown as Token<T>;
}

/** Resolves tokens; the typed face of a container. */
export interface Resolver {
  get<T>(token: Token<T>): T;
}

type TokensOf<Dependencies extends readonly unknown[]> = { readonly [Index in keyof Dependencies]: Token<Dependencies[Index]> };

export type TokensOfMembers<T extends object> = { readonly [Name in keyof T]: Token<T[Name]> };

/** The interface of a module for its bindings. */
export interface Binder {
  /** One for the whole container, made on first use. */
  to<T, Dependencies extends readonly unknown[]>(token: Token<T>, dependencies: TokensOf<Dependencies>, make: (...dependencies: Dependencies) => T): void;
  /** A record, each member by the token of its name. */
  toRecord<T extends object>(token: Token<T>, members: TokensOfMembers<T>): void;
  toValue<T>(token: Token<T>, value: T): void;
}

export function bindTo(options: Pick<ContainerModuleLoadOptions, 'bind'>): Binder {
  return {
    to(token, dependencies, make) {
      const identifiers = dependencies as readonly unknown[] as readonly ServiceIdentifier<unknown>[];
      options
        .bind(token as unknown as ServiceIdentifier<unknown>)
        .toResolvedValue((...resolved: unknown[]) => make(...(resolved as never)), identifiers as never)
        .inSingletonScope();
    },
    toRecord(token, members) {
      const names = Object.keys(members);
      const identifiers = Object.values(members) as readonly ServiceIdentifier<unknown>[];
      options
        .bind(token as unknown as ServiceIdentifier<unknown>)
        .toResolvedValue((...resolved: unknown[]) => Object.fromEntries(names.map((name, i) => [name, resolved[i]])), identifiers as never)
        .inSingletonScope();
    },
    toValue(token, value) {
      options.bind(token as unknown as ServiceIdentifier<unknown>).toConstantValue(value);
    },
  };
}
