import type { Intent } from './payments.ts'

/** A payment or a refund as one side has it; amounts in kopecks. */
export type Side = {
  /**
   * The payments and refunds at the test payment provider, with this system's id as `ourId`; null: it
   * received none.
   */
  readonly payments: readonly {
    readonly ourId: string | null
    readonly isPaid: boolean
    readonly kopecks: bigint
  }[]
  readonly refunds: readonly {
    /** Ours of its payment. */
    readonly paymentId: string
    readonly ourId: string | null
    readonly kopecks: bigint
  }[]
}

/** The ledger's payments: rows that have succeeded or not, and their credits. */
export type PaymentBooks = Side & {
  /** What the ledger took or gave, in kopecks, by the id of the payment or refund. */
  readonly credits: readonly { readonly refId: string; readonly kopecks: bigint }[]
}

/**
 * `lost`: a payment or refund is not in the ledger, or a requested one is not at the test payment provider.
 * `duplicate`: it is there twice. `wrong_amount`: it is there with another amount, or although no customer
 * wanted it.
 */
export type PaymentFinding = { readonly kind: 'lost' | 'duplicate' | 'wrong_amount'; readonly why: string }

/** Every difference between the customers' intents, the test payment provider, and the ledger. Pure. */
export function judgePayments(
  intents: readonly Intent[],
  till: Side,
  books: PaymentBooks,
): readonly PaymentFinding[] {
  const wanted = new Map(intents.map((intent) => [intent.paymentId ?? '', intent]))
  const strays = [...till.payments, ...books.payments].filter(({ ourId }) => !wanted.has(ourId ?? ''))
  return [
    ...strays.map(
      ({ ourId }): PaymentFinding => ({ kind: 'wrong_amount', why: `nobody asked for payment ${ourId}` }),
    ),
    ...intents.flatMap((intent) => judgePayment(intent, till, books)),
    ...judgeCredits(books),
  ]
}

function judgePayment(intent: Intent, till: Side, books: PaymentBooks): readonly PaymentFinding[] {
  const { paymentId } = intent
  if (paymentId === undefined) return [{ kind: 'lost', why: 'a payment was never answered' }]
  const isOurs = ({ ourId }: { readonly ourId: string | null }) => ourId === paymentId
  const kopecks = BigInt(intent.amountRub) * 100n
  const expected = { isPaid: intent.deed === 'paid', kopecks }
  const refundsOf = (side: Side) => side.refunds.filter((refund) => refund.paymentId === paymentId)
  const wantedBack = intent.refunds.map(({ amountRub }) => BigInt(amountRub) * 100n)
  return [
    ...compareOne(`payment ${paymentId} at the till`, till.payments.filter(isOurs), expected),
    ...compareOne(`payment ${paymentId} in the books`, books.payments.filter(isOurs), expected),
    ...compareSums(`refunds of ${paymentId} at the till`, refundsOf(till), wantedBack),
    ...compareSums(`refunds of ${paymentId} in the books`, refundsOf(books), wantedBack),
  ]
}

type Paid = { readonly isPaid: boolean; readonly kopecks: bigint }

function compareOne(name: string, found: readonly Paid[], expected: Paid): readonly PaymentFinding[] {
  const [one, ...more] = found
  if (one === undefined) return [{ kind: 'lost', why: `${name} is not there` }]
  if (more.length > 0) return [{ kind: 'duplicate', why: `${name} is there ${found.length} times` }]
  if (one.isPaid !== expected.isPaid)
    return [
      {
        kind: expected.isPaid ? 'lost' : 'wrong_amount',
        why: `${name} ${one.isPaid ? 'is paid' : 'is not paid'}`,
      },
    ]
  return one.kopecks === expected.kopecks
    ? []
    : [{ kind: 'wrong_amount', why: `${name} is of ${one.kopecks}, asked for ${expected.kopecks}` }]
}

function compareSums(
  name: string,
  found: readonly { readonly kopecks: bigint }[],
  wanted: readonly bigint[],
): readonly PaymentFinding[] {
  if (found.length < wanted.length)
    return [{ kind: 'lost', why: `${name}: ${found.length} of ${wanted.length}` }]
  if (found.length > wanted.length)
    return [{ kind: 'duplicate', why: `${name}: ${found.length} of ${wanted.length}` }]
  const [there, asked] = [found.map(({ kopecks }) => kopecks), wanted].map((amounts) =>
    amounts.map(String).toSorted().join(),
  )
  return there === asked ? [] : [{ kind: 'wrong_amount', why: `${name} are of ${there}, asked for ${asked}` }]
}

/** Each paid payment has one row of its amount in the ledger, each refund one that takes it, and nothing else has any. */
function judgeCredits({ payments, refunds, credits }: PaymentBooks): readonly PaymentFinding[] {
  const due = new Map<string, bigint>([
    ...payments.filter(({ isPaid }) => isPaid).map(({ ourId, kopecks }) => [ourId ?? '', kopecks] as const),
    ...refunds.map(({ ourId, kopecks }) => [ourId ?? '', -kopecks] as const),
  ])
  const booked = Map.groupBy(credits, ({ refId }) => refId)
  const unasked = [...booked.keys()].filter((refId) => !due.has(refId))
  return [
    ...unasked.map(
      (refId): PaymentFinding => ({ kind: 'wrong_amount', why: `${refId} is credited for nothing` }),
    ),
    ...[...due].flatMap(([refId, kopecks]): readonly PaymentFinding[] => {
      const [row, ...more] = booked.get(refId) ?? []
      if (row === undefined) return [{ kind: 'lost', why: `${refId} is not in the ledger` }]
      if (more.length > 0)
        return [{ kind: 'duplicate', why: `${refId} is in the ledger ${more.length + 1} times` }]
      return row.kopecks === kopecks
        ? []
        : [{ kind: 'wrong_amount', why: `${refId}: ${row.kopecks}, due ${kopecks}` }]
    }),
  ]
}
