// SPDX-License-Identifier: Apache-2.0
// Contracts of the tests, for a chain on this machine only. Built into coins.json as the README of the gateway says.
pragma solidity 0.8.37;

/// A token as they are: balances, `transfer`, `decimals`. Anybody may mint, which no real one allows.
contract Coin {
    uint8 public immutable decimals;
    mapping(address => uint256) public balanceOf;
    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor(uint8 places) {
        decimals = places;
        balanceOf[msg.sender] = 1e30;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        require(balanceOf[msg.sender] >= value, "not enough");
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value;
        emit Transfer(msg.sender, to, value);
        return true;
    }
}

/// Worthless: it says `Transfer` and moves nothing.
contract Fake {
    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor(uint8) {}

    function transfer(address to, uint256 value) external returns (bool) {
        emit Transfer(msg.sender, to, value);
        return true;
    }
}

/// A wallet that is a contract: whoever looks at transactions alone never sees what it pays.
contract Wallet {
    constructor(uint8) {}

    function transfer(address payable to, uint256 value) external payable returns (bool) {
        (bool paid,) = to.call{value: value}("");
        require(paid, "not paid");
        return true;
    }
}
