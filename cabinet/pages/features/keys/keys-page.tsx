import { useState } from 'react'
import { navigate, useSearch } from 'wouter/use-browser-location'
import { rowsOf, useReadList } from '../../api/queries.ts'
import { ConfirmFirst } from '../../app/confirm-first.tsx'
import { useIsConfirmed, useMay } from '../../app/me.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { useAddressFilters } from '../../kit/address-filters.ts'
import { Button } from '../../kit/button.tsx'
import { SelectField } from '../../kit/fields.tsx'
import { TextFilter } from '../../kit/filter-fields.tsx'
import { WithErrors } from '../../kit/form.tsx'
import { EmptyState, Loaded, LoadMore } from '../../kit/loaded.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { pageRoutes } from '../../page-routes.ts'
import type { Key } from './key.ts'
import { AllowedModels, LastUsed, NameCell, Rates, StandingBadge, TodayBar } from './key-signs.tsx'
import { tagShape } from './key-values.ts'
import { keyWords } from './messages.ts'
import { type MadeKey, NewKeyDialog } from './new-key-dialog.tsx'
import { RevokedKeys } from './revoked-key.tsx'
import { SecretDialog } from './secret-dialog.tsx'

const path = '/app/keys'
const nameMax = 253

/** `?q` finds keys by their name, `?status=revoked` those that are revoked. `?new` opens the dialog of a new key: other pages link to it. */
export function KeysPage() {
  const words = useWords(keyWords)
  const language = useLanguage()
  const isNew = new URLSearchParams(useSearch()).has('new')
  const [made, setMade] = useState<MadeKey>()
  const isConfirmed = useIsConfirmed()
  const mayMake = useMay('keys.write') && isConfirmed
  const open = () => navigate(`${path}?new`)
  const close = () => navigate(path, { replace: true })
  return (
    <>
      <PageHead
        title={pageRoutes[path].title[language]}
        lead={words.lead}
        actions={
          mayMake && (
            <Button variant="primary" icon="plus" onClick={open}>
              {words.newKey}
            </Button>
          )
        }
      />
      <div className="grid gap-6">
        {!isConfirmed && <ConfirmFirst />}
        <AllKeys {...(mayMake && { onNew: open })} />
      </div>
      {isNew && mayMake && made === undefined && (
        <NewKeyDialog
          onClose={close}
          onMade={(answer) => {
            setMade(answer)
            close()
          }}
        />
      )}
      {made && <SecretDialog made={made} onClose={() => setMade(undefined)} />}
    </>
  )
}

function AllKeys({ onNew }: { readonly onNew?: () => void }) {
  const words = useWords(keyWords)
  const [{ q, status, tag }, change] = useAddressFilters(['q', 'status', 'tag'])
  const text = q?.trim().slice(0, nameMax)
  const isRevoked = status === 'revoked'
  return (
    <Section title={isRevoked ? words.revokedKeys : words.allKeys} isFlush>
      <search className="grid gap-x-4 gap-y-3 px-5 pb-4 sm:grid-cols-2 lg:grid-cols-3">
        <TextFilter name="q" label={words.search} value={text} onChange={(value) => change({ q: value })} />
        <SelectField
          name="status"
          label={words.status}
          value={isRevoked ? 'revoked' : ''}
          onChange={({ target }) => change({ status: target.value })}
        >
          <option value="">{words.notRevoked}</option>
          <option value="revoked">{words.revokedStatus}</option>
        </SelectField>
        {!isRevoked && (
          <WithErrors errors={isTag(tag) ? {} : { tag: words.tagsWrong }}>
            <TextFilter
              name="tag"
              label={words.tag}
              value={tag}
              onChange={(value) => change({ tag: value })}
            />
          </WithErrors>
        )}
      </search>
      {isRevoked ? (
        <RevokedKeys text={text} />
      ) : (
        <PresentKeys
          text={text}
          tag={isTag(tag) ? tag : undefined}
          onClear={() => change({ q: undefined, tag: undefined })}
          {...(onNew && { onNew })}
        />
      )}
    </Section>
  )
}

const isTag = (text: string | undefined) => text === undefined || tagShape.test(text)

function PresentKeys({
  text,
  tag,
  onClear,
  onNew,
}: {
  readonly text: string | undefined
  readonly tag: string | undefined
  readonly onClear: () => void
  readonly onNew?: () => void
}) {
  const words = useWords(keyWords)
  const list = useReadList('/keys', {
    query: { limit: 50, purpose: 'general', ...(text && { q: text }), ...(tag && { tag }) },
  })
  const keys = rowsOf(list)
  return (
    <Loaded query={list} skeleton={<SkeletonRows count={6} />}>
      {() =>
        keys.length > 0 ? (
          <>
            <KeyTable keys={keys} />
            <LoadMore list={list} />
          </>
        ) : text || tag ? (
          <EmptyState
            text={words.noneFound}
            action={<Button onClick={onClear}>{words.clearSearch}</Button>}
          />
        ) : (
          <EmptyState text={words.empty} action={onNew && <Button onClick={onNew}>{words.newKey}</Button>} />
        )
      }
    </Loaded>
  )
}

function KeyTable({ keys }: { readonly keys: readonly Key[] }) {
  const words = useWords(keyWords)
  const columns: readonly Column<Key>[] = [
    { id: 'name', head: words.name, cell: (key) => <NameCell shown={key} /> },
    { id: 'status', head: words.status, cell: (key) => <StandingBadge shown={key} /> },
    { id: 'today', head: words.today, cell: (key) => <TodayBar shown={key} /> },
    { id: 'rates', head: words.perMinute, cell: (key) => <Rates shown={key} /> },
    { id: 'models', head: words.models, cell: (key) => <AllowedModels shown={key} /> },
    { id: 'used', head: words.lastUsed, cell: (key) => <LastUsed shown={key} /> },
  ]
  return <Table caption={words.allKeys} columns={columns} rows={keys} keyOf={({ id }) => id} />
}
