import { expect, test } from 'vitest'
import { knownReasons } from '#cabinet/mail/internal/cancellation-reasons'
import { billingWords } from '#cabinet/pages/features/billing/messages'

test('emails and pages have texts for the same reasons of a canceled payment', () => {
  expect(Object.keys(billingWords.ru.reasons)).toEqual(knownReasons)
})
