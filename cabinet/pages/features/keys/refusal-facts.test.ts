import { expect, test } from 'vitest'
import { reasonOf } from './refusal-facts.ts'
import { refusalWords } from './refusal-messages.ts'

test('a rejection by a budget names that budget; by a daily one and by an unknown limit too there is a reason', () => {
  const { en, ru } = refusalWords
  const weekly = { code: 'budget_exceeded', scope: 'weekly_budget' } as const
  expect(reasonOf(weekly, en)).toBe('The weekly budget of the key is used up')
  expect(reasonOf(weekly, ru)).toBe('Бюджет ключа на неделю израсходован')
  expect(reasonOf({ code: 'budget_reserved', scope: 'member_budget' }, ru)).toBe(
    'Остаток бюджета участника на месяц зарезервирован под выполняемые запросы',
  )
  expect(reasonOf({ code: 'budget_exceeded', scope: null }, en)).toBe('A budget is used up')
})
