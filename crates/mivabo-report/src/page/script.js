// Sorts the table of trials, saves charts, and shows the trial under the pointer in all charts at once.
(function () {
  'use strict';
  var table = document.getElementById('all');

  function key(row, column) {
    var cell = row.cells[column];
    // The title of a number has all of its digits.
    var text = cell.dataset.v || (!cell.className && cell.title) || cell.textContent;
    var number = Number(text);
    if (text === '–') return [2, 0];
    return text.trim() !== '' && !isNaN(number) ? [0, number] : [1, text];
  }
  // Numbers before texts before nothing, whichever way the table is sorted.
  function compare(a, b, sign) {
    if (a[0] !== b[0]) return a[0] - b[0];
    if (a[0] === 0) return sign * (a[1] - b[1]);
    return sign * String(a[1]).localeCompare(String(b[1]));
  }
  function sort(head, column) {
    var sign = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
    var body = table.tBodies[0];
    var rows = Array.from(body.rows).map(function (row) { return [key(row, column), row]; });
    rows.sort(function (a, b) { return compare(a[0], b[0], sign); });
    rows.forEach(function (pair) { body.append(pair[1]); });
    Array.from(table.tHead.rows[0].cells).forEach(function (cell) { cell.removeAttribute('aria-sort'); });
    head.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
  }
  if (table) {
    Array.from(table.tHead.rows[0].cells).forEach(function (head, column) {
      var button = document.createElement('button');
      button.type = 'button';
      button.append.apply(button, Array.from(head.childNodes));
      button.addEventListener('click', function () { sort(head, column); });
      head.append(button);
    });
  }

  // Each chart as a file of its own: what the style sheet says of its parts is written into them.
  var SHAPE = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray', 'stroke-linejoin', 'paint-order'];
  var TEXT = ['text-anchor', 'font-size', 'font-family', 'font-variant-numeric'];
  function drawing(svg) {
    var space = svg.namespaceURI;
    var copy = svg.cloneNode(true);
    var parts = svg.querySelectorAll('*');
    copy.querySelectorAll('*').forEach(function (part, k) {
      var style = getComputedStyle(parts[k]);
      var names = part.tagName === 'text' ? SHAPE.concat(TEXT) : part.tagName === 'g' ? [] : SHAPE;
      names.forEach(function (name) {
        if (name.indexOf('stroke-') !== 0 || style.stroke !== 'none') part.setAttribute(name, style.getPropertyValue(name));
      });
      part.removeAttribute('class');
      part.removeAttribute('data-t');
    });
    var ground = document.createElementNS(space, 'rect');
    ground.setAttribute('width', '100%');
    ground.setAttribute('height', '100%');
    ground.setAttribute('fill', getComputedStyle(document.body).backgroundColor);
    var title = document.createElementNS(space, 'title');
    title.textContent = svg.getAttribute('aria-label');
    copy.prepend(title, ground);
    return new XMLSerializer().serializeToString(copy);
  }
  function save(svg) {
    var link = document.createElement('a');
    var name = document.title + ' ' + svg.getAttribute('aria-label');
    link.href = URL.createObjectURL(new Blob([drawing(svg)], { type: 'image/svg+xml' }));
    link.download = name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '') + '.svg';
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 60000);
  }
  document.querySelectorAll('figure > svg').forEach(function (svg) {
    var button = document.createElement('button');
    button.type = 'button';
    button.className = 'save';
    button.textContent = 'save SVG';
    button.title = 'Save this chart as SVG';
    button.addEventListener('click', function () { save(svg); });
    var caption = svg.parentElement.querySelector('figcaption');
    if (caption) caption.prepend(button); else svg.after(button);
  });

  var marks = new Map();
  var rows = new Map();
  document.querySelectorAll('[data-t]').forEach(function (mark) {
    var id = mark.dataset.t;
    if (!marks.has(id)) marks.set(id, []);
    marks.get(id).push(mark);
    if (mark.tagName === 'TR') rows.set(id, mark);
  });
  // A title inside a drawing would pop up over the one made here.
  document.querySelectorAll('svg').forEach(function (svg) {
    svg.setAttribute('aria-label', svg.querySelector('title').textContent);
    svg.querySelector('title').remove();
  });
  var tip = document.createElement('div');
  tip.id = 'tip';
  tip.hidden = true;
  document.body.append(tip);
  var current = null;

  function describe(id) {
    var row = rows.get(id);
    tip.textContent = '';
    if (!row) return;
    Array.from(row.cells).forEach(function (cell, column) {
      if (cell.textContent === '–' || column > 24) return;
      var line = document.createElement(column === 0 ? 'b' : 'div');
      var name = document.createElement('span');
      name.textContent = table.tHead.rows[0].cells[column].textContent + ' ';
      line.append(name, cell.textContent);
      tip.append(line);
    });
  }
  function light(id) {
    if (id === current) return;
    (marks.get(current) || []).forEach(function (mark) { mark.classList.remove('hot'); });
    (marks.get(id) || []).forEach(function (mark) { mark.classList.add('hot'); });
    document.querySelectorAll('.lines').forEach(function (lines) {
      lines.classList.toggle('dim', lines.querySelector('.hot') !== null);
    });
    current = id;
    if (id !== null) describe(id);
  }
  document.addEventListener('mousemove', function (event) {
    var mark = event.target.closest ? event.target.closest('[data-t]') : null;
    light(mark ? mark.dataset.t : null);
    tip.hidden = !mark || mark.tagName === 'TR' || mark.tagName === 'DIV';
    if (tip.hidden) return;
    var left = event.clientX + 14, top = event.clientY + 14;
    tip.style.left = Math.max(0, Math.min(left, innerWidth - tip.offsetWidth - 8)) + 'px';
    tip.style.top = Math.max(0, Math.min(top, innerHeight - tip.offsetHeight - 8)) + 'px';
  });
  document.addEventListener('click', function (event) {
    var mark = event.target.closest ? event.target.closest('svg [data-t]') : null;
    if (mark && rows.has(mark.dataset.t)) rows.get(mark.dataset.t).scrollIntoView({ block: 'center' });
  });
})();
