"""Two Python functions as tools."""

from typing import Annotated

from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel, Field

server = FastMCP("shipping")


@server.tool()
def shipping_cost(weight_kg: Annotated[float, Field(gt=0)], express: bool = False) -> float:
    """What it costs to send a parcel, in euros."""
    return round((4.9 + 1.2 * weight_kg) * (2 if express else 1), 2)


class Pickup(BaseModel):
    """Where and when a parcel is picked up."""

    address: str
    day: str


@server.tool()
async def book_pickup(parcel: str, context: Context) -> str:
    """Has a parcel picked up; asks a person where and when."""
    answer = await context.elicit(f"Where and when shall {parcel} be picked up?", Pickup)
    if answer.action != "accept":
        return f"{parcel} is not picked up."
    return f"{parcel} is picked up at {answer.data.address} on {answer.data.day}."


if __name__ == "__main__":
    server.run()
