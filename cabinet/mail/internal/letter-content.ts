import { z } from 'zod'

const nothing = z.object({})
const byLink = z.object({ link: z.url({ protocol: /^https?$/ }) })
/** Plain decimal of roubles. */
const rub = z.string()
/** What people call the organization, and how much was paid or given back. */
const payment = { organization: z.string(), amount: rub }

/** What a letter tells, by its kind. `vars` are what `email_outbox` keeps until the letter is sent. */
export const letterContentSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('verify_email'), vars: byLink }),
  z.object({
    kind: z.literal('already_registered'),
    vars: z.object({ loginLink: byLink.shape.link, resetLink: byLink.shape.link }),
  }),
  z.object({ kind: z.literal('reset_password'), vars: byLink }),
  z.object({
    kind: z.literal('password_changed'),
    /** When, in UTC as ISO 8601, and the network address it was done from. */
    vars: z.object({ at: z.iso.datetime(), address: z.string().max(64) }),
  }),
  z.object({
    kind: z.literal('low_balance'),
    /** The organization's name, and plain decimals of roubles. */
    vars: z.object({ organization: z.string(), balance: z.string(), threshold: z.string() }),
  }),
  z.object({
    kind: z.literal('payment_credited'),
    /** `welcome`: the bonus that came with it; null: none did. */
    vars: z.object({ ...payment, welcome: rub.nullable(), balance: rub }),
  }),
  z.object({
    kind: z.literal('payment_refunded'),
    /** `amount` of a payment of `paymentAmount`. `welcome`: the bonus that was taken back with it; null: none was. */
    vars: z.object({
      ...{ ...payment, paymentAmount: rub, paymentAt: z.iso.datetime() },
      ...{ welcome: rub.nullable(), balance: rub },
    }),
  }),
  z.object({
    kind: z.literal('payment_canceled'),
    /** `reason`: a code of the provider; null: it gave none. */
    vars: z.object({ ...payment, reason: z.string().max(128).nullable() }),
  }),
  z.object({ kind: z.literal('totp_enabled'), vars: nothing }),
  z.object({ kind: z.literal('totp_disabled'), vars: nothing }),
])

export type LetterContent = z.infer<typeof letterContentSchema>

export type LetterKind = LetterContent['kind']

/** The kinds that this version can write. A newer one may have put others into the outbox; they wait for it. */
export const letterKinds: readonly LetterKind[] = letterContentSchema.options.map(
  ({ shape }) => shape.kind.value,
)

/** Languages that letters are written in. */
export type Locale = 'ru' | 'en'
