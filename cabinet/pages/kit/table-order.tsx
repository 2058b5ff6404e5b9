import { useWords } from '../i18n/language.ts'
import { classNames } from './class-names.ts'
import { SelectField } from './fields.tsx'
import { Icon } from './icon.tsx'
import { kitWords } from './messages.ts'
import { nextOrder, type Order, type Sortable } from './row-order.ts'

type Column<Row> = Sortable<Row> & { readonly head: string }

type OnOrder = (order: Order | undefined) => void

/** The head of a column; with `onOrder` and something to compare, a button that sorts by it. */
export function HeadCell<Row>({
  column,
  order,
  isDense = false,
  onOrder,
}: {
  readonly column: Column<Row>
  readonly order: Order | undefined
  readonly isDense?: boolean
  readonly onOrder?: OnOrder
}) {
  const { id, head, isNumber, compare } = column
  const looks = classNames(
    'px-3 font-medium first:ps-5 last:pe-5',
    isDense ? 'py-1' : 'py-2',
    isNumber ? 'text-end' : 'text-start',
  )
  if (onOrder === undefined || compare === undefined)
    return (
      <th scope="col" className={looks}>
        {head}
      </th>
    )
  const isSorted = order?.column === id
  const isDescending = isSorted && order.isDescending
  return (
    <th
      scope="col"
      className={looks}
      aria-sort={isSorted ? (isDescending ? 'descending' : 'ascending') : 'none'}
    >
      {/* On narrow screens the head is only for screen readers, and the field above the rows sorts. */}
      <span className="@3xl:hidden">{head}</span>
      <button
        type="button"
        className="inline-flex min-h-6 cursor-pointer items-center gap-1 hover:text-ink @max-3xl:hidden"
        onClick={() => onOrder(nextOrder(column, order))}
      >
        {head}
        <span
          aria-hidden="true"
          className={classNames(!isSorted && 'invisible', isSorted && !isDescending && 'rotate-180')}
        >
          <Icon name="down" size={16} />
        </span>
      </button>
    </th>
  )
}

/** Sorts rows of narrow screens, which have no heads. */
export function OrderField<Row>({
  columns,
  order,
  onChange,
}: {
  readonly columns: readonly Column<Row>[]
  readonly order: Order | undefined
  readonly onChange: OnOrder
}) {
  const words = useWords(kitWords)
  const sortable = columns.filter(({ compare }) => compare !== undefined)
  const textOf = ({ column, isDescending }: Order) => `${isDescending ? '-' : ''}${column}`
  const orders = sortable.flatMap(({ id }) =>
    [true, false].map((isDescending): Order => ({ column: id, isDescending })),
  )
  const nameOf = ({ column, isDescending }: Order) => {
    const head = sortable.find(({ id }) => id === column)?.head ?? ''
    return isDescending ? words.descending(head) : words.ascending(head)
  }
  return (
    <div className="px-5 pb-2 @3xl:hidden print:hidden">
      <SelectField
        name="order"
        label={words.sorting}
        value={order === undefined ? '' : textOf(order)}
        onChange={({ target }) => onChange(orders.find((one) => textOf(one) === target.value))}
      >
        <option value="">{words.givenOrder}</option>
        {orders.map((one) => (
          <option key={textOf(one)} value={textOf(one)}>
            {nameOf(one)}
          </option>
        ))}
      </SelectField>
    </div>
  )
}
