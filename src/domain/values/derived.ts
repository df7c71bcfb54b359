// What follows from an immutable object alone is computed once for that object's life. API objects are copied on write, so a changed
// pod is another object and nothing here can be stale. It is no state: without it the same answers only take longer.

/** Caches the result of `derive` per object, for the object's lifetime. */
export function derived<From extends object, Value extends {}>(derive: (from: From) => Value): (from: From) => Value {
  const known = new WeakMap<From, Value>();
  return (from) => {
    let value = known.get(from);
    if (value === undefined) {
      value = derive(from);
      known.set(from, value);
    }
    return value;
  };
}
