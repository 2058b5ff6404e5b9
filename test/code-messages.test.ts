import { expect, test } from 'vitest'
import { refusalWords } from '#cabinet/pages/features/keys/refusal-messages'
import { usageWords } from '#cabinet/pages/features/usage/messages'
import { errorRows } from '#core/errors/refusal'
import { shownOutcome } from '#core/ledger/request-record'

test.each(['ru', 'en'] as const)(
  'in %s every error code and outcome that exists has a text, and no other one',
  (language) => {
    const { outcomes, outcomeDetails } = usageWords[language]
    const reasons = Object.keys(refusalWords[language].reasons)
    expect(reasons.toSorted()).toEqual(Object.keys(errorRows).toSorted())
    for (const texts of [outcomes, outcomeDetails])
      expect(Object.keys(texts).toSorted()).toEqual(shownOutcome.options.toSorted())
  },
)
