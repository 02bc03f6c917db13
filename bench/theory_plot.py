"""Lines over numbers, side by side, as SVG."""
import math

COLOURS = {"by (9)": "#1f6feb", "by (3) to (6)": "#cf222e", "by (9), 2F": "#8ab8f5", "simulated": "#2da44e", "simulated, 2F": "#9a6700"}
TOP, BOTTOM, WIDTH = 40, 220, 230


def panel(title, lines, bounds, logarithmic, left):
    """One plot; a line is (x, y) in order."""
    xs = [x for line in lines.values() for x, _ in line]
    place = math.log if logarithmic else float
    low, high = place(min(xs)), place(max(xs))
    x = lambda value: left + (place(value) - low) * WIDTH / (high - low)
    y = lambda value: BOTTOM - (min(max(value, bounds[0]), bounds[1]) - bounds[0]) * (BOTTOM - TOP) / (bounds[1] - bounds[0])
    parts = [f'<text x="{left}" y="{TOP - 20}" font-weight="bold">{title}</text>',
             f'<path d="M{left} {TOP - 6}V{BOTTOM}H{left + WIDTH}" fill="none" stroke="#888"/>']
    if bounds[0] < 0:
        parts.append(f'<path d="M{left} {y(0):.1f}H{left + WIDTH}" stroke="#bbb" stroke-dasharray="3 3"/>')
    for value in sorted({*bounds, *([0] if bounds[0] < 0 else [])}):
        parts.append(f'<text x="{left - 5}" y="{y(value) + 4:.1f}" text-anchor="end">{value}</text>')
    for value in (min(xs), max(xs)):
        parts.append(f'<text x="{x(value):.1f}" y="{BOTTOM + 15}" text-anchor="middle">{value:.0f}</text>')
    for name, line in lines.items():
        points = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in line)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[name]}" stroke-width="1.5"/>')
    return parts


def panels(plots):
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 270" font-family="sans-serif" font-size="11">',
             '<rect width="960" height="270" fill="white"/>']
    for i, plot in enumerate(plots):
        parts += panel(*plot, 45 + i * 320)
    for i, (name, colour) in enumerate(COLOURS.items()):
        parts.append(f'<path d="M{130 + i * 150} 258h18" stroke="{colour}" stroke-width="2"/><text x="{152 + i * 150}" y="262">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])
