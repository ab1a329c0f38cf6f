'use strict';

// Sorts tables by the column whose name was chosen. Numbers start with the
// largest, names with the first; what is not known stays at the end.

function keyOf(row, column) {
  const cell = row.cells[column];
  if (!('value' in cell.dataset)) return cell.textContent;
  return cell.dataset.value === '' ? null : Number(cell.dataset.value);
}

function compare(a, b) {
  return typeof a === 'number' ?
    a - b : a.localeCompare(b, 'en', {numeric: true});
}

function sort(table, header) {
  const column = Number(header.dataset.column);
  const first = column === 0 ? 'ascending' : 'descending';
  const other = column === 0 ? 'descending' : 'ascending';
  const order = header.getAttribute('aria-sort') === first ? other : first;
  const sign = order === 'ascending' ? 1 : -1;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, row => [keyOf(row, column), row]);
  rows.sort(([a], [b]) => a === null || b === null ?
    (a === null) - (b === null) : sign * compare(a, b));
  body.append(...rows.map(([, row]) => row));
  for (const each of table.querySelectorAll('[aria-sort]')) {
    each.removeAttribute('aria-sort');
  }
  header.setAttribute('aria-sort', order);
}

for (const table of document.querySelectorAll('table.sortable')) {
  for (const header of table.querySelectorAll('th[data-column]')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...header.childNodes);
    button.addEventListener('click', () => sort(table, header));
    header.append(button);
  }
}

for (const hint of document.querySelectorAll('.hint')) hint.hidden = false;
