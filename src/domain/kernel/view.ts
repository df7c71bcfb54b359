// What a part sees of the state of the others: the same data, read-only at every depth.

/** A type whose values can't be changed through it. */
export type View<T> = T extends (...args: never[]) => unknown
  ? T
  : T extends ReadonlyMap<infer Key, infer Value>
    ? ReadonlyMap<Key, View<Value>>
    : T extends ReadonlySet<infer Member>
      ? ReadonlySet<Member>
      : T extends readonly unknown[]
        ? { readonly [Index in keyof T]: View<T[Index]> }
        : T extends object
          ? { readonly [Name in keyof T]: View<T[Name]> }
          : T;
