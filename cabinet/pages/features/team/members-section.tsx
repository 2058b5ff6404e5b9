import { useState } from 'react'
import { call } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { readAgain, useRead } from '../../api/queries.ts'
import { useMay } from '../../app/me.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Dialog } from '../../kit/dialog.tsx'
import { TextField } from '../../kit/fields.tsx'
import { Form, FormEnd } from '../../kit/form.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { Section } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { announce } from '../../kit/toasts.tsx'
import { budgetProblem } from '../../money/budget.ts'
import { findTypedRubles, typedRubles } from '../../money/rubles.ts'
import { teamWords } from './messages.ts'
import { RoleField, roleIn } from './role-field.tsx'

type Member = Answer<'GET /members'>['data'][number]
type Opened = { readonly what: 'role' | 'removal'; readonly member: Member }

/** All members; owners change roles and remove members here. */
export function MembersSection() {
  const words = useWords(teamWords)
  const members = useRead('/members')
  const mayChange = useMay('team.write')
  const [opened, setOpened] = useState<Opened>()
  const columns: readonly Column<Member>[] = [
    { id: 'email', head: words.member, cell: (member) => <Name member={member} /> },
    { id: 'role', head: words.role, cell: ({ role }) => words.roles[role] },
    { id: 'keys', head: words.keys, isNumber: true, cell: (member) => keysOf(member) },
    { id: 'budget', head: words.monthlyBudget, isNumber: true, cell: (member) => <Budget member={member} /> },
    { id: 'joined', head: words.joined, cell: ({ joined_at }) => <DateTime at={joined_at} /> },
  ]
  const actions: Column<Member> = {
    id: 'actions',
    head: words.actions,
    cell: (member) => <MemberActions member={member} onOpen={(what) => setOpened({ what, member })} />,
  }
  const keysOf = ({ key_count, keys_max }: Member) =>
    keys_max === null ? key_count : words.keysOf(key_count, keys_max)
  const close = () => setOpened(undefined)
  return (
    <Section title={words.members} lead={words.membersLead} isFlush>
      <Loaded query={members} skeleton={<SkeletonRows count={2} />}>
        {({ data }) => (
          <Table
            caption={words.members}
            columns={mayChange ? [...columns, actions] : columns}
            rows={data}
            keyOf={({ user_id }) => user_id}
          />
        )}
      </Loaded>
      {opened?.what === 'role' && <RoleDialog member={opened.member} onClose={close} />}
      {opened?.what === 'removal' && <RemovalDialog member={opened.member} onClose={close} />}
    </Section>
  )
}

function Name({ member: { email, is_you } }: { readonly member: Member }) {
  const words = useWords(teamWords)
  return (
    <span className="flex flex-wrap items-center gap-2">
      <bdi className="wrap-anywhere">{email}</bdi>
      {is_you && <Badge>{words.you}</Badge>}
    </span>
  )
}

/** What the keys of a member spent this month, of its budget. */
function Budget({ member: { monthly_budget_rub, spent_this_month_rub } }: { readonly member: Member }) {
  const words = useWords(teamWords)
  if (monthly_budget_rub === null) return words.noBudget
  return (
    <span>
      <Money rubles={spent_this_month_rub ?? '0'} isSpent /> {words.ofBudget}{' '}
      <Money rubles={monthly_budget_rub} />
    </span>
  )
}

function MemberActions({
  member: { email, is_you },
  onOpen,
}: {
  readonly member: Member
  readonly onOpen: (what: Opened['what']) => void
}) {
  const words = useWords(teamWords)
  return (
    <span className="flex flex-wrap gap-2 @max-3xl:justify-end">
      <Button size="small" aria-label={words.changeMember(email)} onClick={() => onOpen('role')}>
        {words.change}
      </Button>
      {!is_you && (
        <Button size="small" aria-label={words.removeMember(email)} onClick={() => onOpen('removal')}>
          {words.remove}
        </Button>
      )}
    </span>
  )
}

type DialogProps = { readonly member: Member; readonly onClose: () => void }

function RoleDialog({ member, onClose }: DialogProps) {
  const { user_id, email, role, keys_max, monthly_budget_rub } = member
  const words = useWords(teamWords)
  const initialBudget = typedRubles(monthly_budget_rub ?? '', useLanguage())
  return (
    <Dialog title={words.changeTitle} onClose={onClose}>
      <Form
        check={(values) => ({
          keys_max: isKeyLimit(textIn(values, 'keys_max')) ? undefined : words.keysMaxWrong,
          monthly_budget_rub: isBudget(textIn(values, 'monthly_budget_rub'), initialBudget)
            ? undefined
            : words.budgetWrong,
        })}
        send={(values) => {
          const keysMax = textIn(values, 'keys_max')
          return call('PATCH /members/:user_id', {
            params: { user_id },
            body: {
              role: roleIn(values),
              keys_max: keysMax === '' ? null : Number(keysMax),
              monthly_budget_rub: findTypedRubles(textIn(values, 'monthly_budget_rub')) ?? null,
            },
          })
        }}
        onDone={() => {
          announce(words.roleChanged)
          onClose()
          void readAgain('/members', '/invitations', '/me')
        }}
      >
        <p className="wrap-anywhere">{email}</p>
        <RoleField initial={role} />
        <TextField
          name="keys_max"
          label={words.keysMax}
          hint={words.keysMaxHint}
          defaultValue={keys_max ?? ''}
          inputMode="numeric"
          autoComplete="off"
        />
        <TextField
          name="monthly_budget_rub"
          label={words.monthlyBudgetOfKeys}
          hint={words.monthlyBudgetHint}
          defaultValue={initialBudget}
          inputMode="decimal"
          autoComplete="off"
        />
        <FormEnd send={words.save} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

const textIn = (values: FormData, field: string) => String(values.get(field)).trim()

/** A budget that is finer than kopecks may stay unchanged. */
function isBudget(typed: string, initial: string): boolean {
  return typed === initial || budgetProblem(typed) === undefined
}

const keysMaxMax = 200

function isKeyLimit(typed: string): boolean {
  return typed === '' || (/^\d+$/.test(typed) && Number(typed) <= keysMaxMax)
}

function RemovalDialog({ member: { user_id, email }, onClose }: DialogProps) {
  const words = useWords(teamWords)
  return (
    <Dialog title={words.removeTitle} onClose={onClose}>
      <Form
        send={() => call('DELETE /members/:user_id', { params: { user_id } })}
        onDone={() => {
          announce(words.removed)
          onClose()
          void readAgain('/members', '/invitations')
        }}
      >
        <p className="wrap-anywhere">{words.removeLead(email)}</p>
        <FormEnd variant="danger" send={words.remove} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}
