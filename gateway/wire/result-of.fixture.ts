/** The result of `steps`, at once. */
export function resultOf<Result>(steps: Generator<unknown, Result>): Result {
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value
}
