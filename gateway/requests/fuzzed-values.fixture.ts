import fc from 'fast-check'

type Given = {
  readonly leaf: fc.Arbitrary<unknown>
  /** Of objects that have one. */
  readonly types: readonly string[]
  /** Of fields. */
  readonly names: readonly string[]
  /** Values that mean something in some field. */
  readonly known: fc.Arbitrary<unknown>
  readonly maxDepth: number
}

/** Values as an API's bodies have them, in the wrong places. */
export function fuzzedValues({ leaf, types, names, known, maxDepth }: Given): fc.Arbitrary<unknown> {
  const { value } = fc.letrec<{ value: unknown; object: object }>((tie) => ({
    object: fc
      .tuple(
        fc.option(fc.oneof(fc.constantFrom(...types), leaf), { nil: undefined }),
        fc.dictionary(fc.constantFrom(...names), fc.oneof(known, tie('value')), { maxKeys: 6 }),
      )
      .map(([type, fields]) => (type === undefined ? fields : { type, ...fields })),
    value: fc.oneof({ maxDepth }, leaf, fc.array(tie('value'), { maxLength: 4 }), tie('object')),
  }))
  return value
}
